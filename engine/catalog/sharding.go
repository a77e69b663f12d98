package catalog

import (
	"encoding/hex"
	"fmt"
	"math/bits"
	"slices"
)

// DefaultChunks is the number of hash slots of a new cluster.
const DefaultChunks = 256

// HashVersion names the way from a shard key to a chunk: canonical text, IEEE
// crc32, modulo the number of chunks. Another way would be a new version.
const HashVersion = 1

// Pseudo-OIDs of the two descriptors of sharding; relation locks on them order
// changes of the descriptors with those who rely on them.
const (
	ShardsOID OID = 13987
	OwnedOID  OID = 13986
)

// Shards is shard 0's descriptor of the cluster's shards: who they are, which
// chunk lives where, and the moves that are under way. There is one for all databases.
type Shards struct {
	// Version grows with every change of Map.
	Version uint64
	Hash    int // HashVersion
	// Map is the shard of each chunk.
	Map    []int32
	Shards []Shard
	Moves  []Move `json:",omitempty"`
	// Broadcasts are changes of collections that have not reached every shard yet.
	Broadcasts []Broadcast `json:",omitempty"`
	// Next is the id of the next shard, move or broadcast; ids are not used again.
	Next int32
	// Mover numbers the attempts of movers, so that shards can tell them apart.
	Mover uint64
	// Balancer, when not nil, makes the leader of shard 0 even the map out by itself.
	Balancer *Balancer `json:",omitempty"`
}

// Balancer is the pace of the automatic balancer.
type Balancer struct {
	// Chunks is how many chunks one move has at most.
	Chunks int
	// PauseMS is the time between the end of one move and the next one, in ms.
	PauseMS int64
}

// Shard is one shard other than shard 0.
type Shard struct {
	ID   int32
	Name string
	// Nodes host replicas of a shard of this cluster; nil when it is attached.
	Nodes []string `json:",omitempty"`
	// DSN is the connection string of an attached server, Cluster the identity of the
	// cluster it belongs to.
	DSN     string `json:",omitempty"`
	Cluster string `json:",omitempty"`
	State   ShardState
}

// ShardState is where a shard stands in its life.
type ShardState string

const (
	ShardCreating ShardState = "creating" // its group has not been started
	ShardActive   ShardState = "active"
)

// Move is a chunk move: its state is what a new mover goes on from.
type Move struct {
	ID       int32
	Chunks   ChunkSet
	From, To int32
	State    MoveState
	// Error is why the last attempt did not get further.
	Error string `json:",omitempty"`
}

// MoveState is a step of a move.
type MoveState string

const (
	MoveCopying   MoveState = "copying"   // the target is being filled; the source owns the chunks
	MoveSwitching MoveState = "switching" // the source gives up the chunks, the target takes them
	MoveCleaning  MoveState = "cleaning"  // the map names the target; the source deletes its copies
	// MoveCancelling was copying: the source forgets what it records, the target deletes its copies.
	MoveCancelling MoveState = "cancelling"
)

// Broadcast is a change of a collection on its way to every shard.
type Broadcast struct {
	ID int32
	// Command is the change, in the encoding of shardrouter.
	Command []byte
	// Text describes it.
	Text string
	// Error is why the last attempt did not get further.
	Error string `json:",omitempty"`
}

// NewShards is the descriptor of a cluster that has no shard but shard 0.
func NewShards() *Shards {
	return &Shards{Version: 1, Hash: HashVersion, Map: make([]int32, DefaultChunks), Next: 1}
}

// Clone returns a copy that can be changed.
func (s *Shards) Clone() *Shards {
	c := *s
	c.Map, c.Shards, c.Moves, c.Broadcasts = slices.Clone(s.Map), slices.Clone(s.Shards), slices.Clone(s.Moves), slices.Clone(s.Broadcasts)
	return &c
}

// Shard finds a shard by id; nil for shard 0 and unknown ones.
func (s *Shards) Shard(id int32) *Shard {
	for i := range s.Shards {
		if s.Shards[i].ID == id {
			return &s.Shards[i]
		}
	}
	return nil
}

// ByName finds a shard; id 0 is named "home".
func (s *Shards) ByName(name string) (id int32, ok bool) {
	if name == HomeShard {
		return 0, true
	}
	for _, x := range s.Shards {
		if x.Name == name {
			return x.ID, true
		}
	}
	return 0, false
}

// HomeShard is the name of shard 0.
const HomeShard = "home"

// Name of a shard.
func (s *Shards) Name(id int32) string {
	if id == 0 {
		return HomeShard
	}
	if x := s.Shard(id); x != nil {
		return x.Name
	}
	return fmt.Sprintf("shard %d", id)
}

// Owned are the chunks that a shard owns.
func (s *Shards) Owned(id int32) ChunkSet {
	c := NewChunkSet(len(s.Map))
	for i, x := range s.Map {
		if x == id {
			c.Add(i)
		}
	}
	return c
}

// Owners are the shards that own a chunk, ascending.
func (s *Shards) Owners() []int32 {
	var out []int32
	for _, x := range s.Map {
		if i, found := slices.BinarySearch(out, x); !found {
			out = slices.Insert(out, i, x)
		}
	}
	return out
}

// Move finds a move.
func (s *Shards) Move(id int32) *Move {
	for i := range s.Moves {
		if s.Moves[i].ID == id {
			return &s.Moves[i]
		}
	}
	return nil
}

// Owned is a shard's own descriptor of what it owns: requests for other chunks
// are refused. Shard 0 without one owns every chunk, other shards none.
type Owned struct {
	// Version is the newest version of the chunk map that the shard has been told.
	Version uint64
	// Chunks are those it owns, Moving those whose changes it records.
	Chunks ChunkSet
	Moving ChunkSet `json:",omitempty"`
	// Count is the number of chunks of the cluster.
	Count int
	// Mover is the newest mover that has presented itself: older ones are refused.
	Mover uint64
}

// ChunkSet is a set of chunks, a bit per chunk; as text hexadecimal.
type ChunkSet []byte

// NewChunkSet is an empty set of chunks below n.
func NewChunkSet(n int) ChunkSet { return make(ChunkSet, (n+7)/8) }

// AllChunks is the full set.
func AllChunks(n int) ChunkSet {
	c := NewChunkSet(n)
	for i := range n {
		c.Add(i)
	}
	return c
}

// Has reports whether a chunk is in the set.
func (c ChunkSet) Has(i int) bool { return i >= 0 && i/8 < len(c) && c[i/8]&(1<<(i%8)) != 0 }

// Add puts a chunk into the set, which must be large enough.
func (c ChunkSet) Add(i int) { c[i/8] |= 1 << (i % 8) }

// Len is the number of chunks.
func (c ChunkSet) Len() int {
	n := 0
	for _, b := range c {
		n += bits.OnesCount8(b)
	}
	return n
}

// Empty reports an empty set.
func (c ChunkSet) Empty() bool { return c.Len() == 0 }

// Union, Minus and Intersect make new sets; a shorter set is filled up with nothing.
func (c ChunkSet) Union(o ChunkSet) ChunkSet {
	return c.combine(o, func(a, b byte) byte { return a | b })
}
func (c ChunkSet) Minus(o ChunkSet) ChunkSet {
	return c.combine(o, func(a, b byte) byte { return a &^ b })
}
func (c ChunkSet) Intersect(o ChunkSet) ChunkSet {
	return c.combine(o, func(a, b byte) byte { return a & b })
}

func (c ChunkSet) combine(o ChunkSet, f func(a, b byte) byte) ChunkSet {
	out := make(ChunkSet, max(len(c), len(o)))
	for i := range out {
		var a, b byte
		if i < len(c) {
			a = c[i]
		}
		if i < len(o) {
			b = o[i]
		}
		out[i] = f(a, b)
	}
	return out
}

// Contains reports that all of o is in c.
func (c ChunkSet) Contains(o ChunkSet) bool { return o.Minus(c).Empty() }

// Chunks lists the set ascending.
func (c ChunkSet) Chunks() []int {
	var out []int
	for i := range len(c) * 8 {
		if c.Has(i) {
			out = append(out, i)
		}
	}
	return out
}

// MarshalText and UnmarshalText: hexadecimal.
func (c ChunkSet) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(c)), nil }

func (c *ChunkSet) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	*c = b
	return err
}

// Shards is the cluster's sharding, as far as this replica knows: of shard 0 only.
// Without a descriptor all chunks are on shard 0.
func (c *Catalog) Shards() *Shards {
	if c.sharding.shards == nil {
		return unsharded
	}
	return c.sharding.shards
}

var unsharded = NewShards()

// Owned is what this shard owns, nil when it was never told.
func (c *Catalog) Owned() *Owned { return c.sharding.owned }

// sharding holds the two descriptors of sharding.
type sharding struct {
	shards *Shards
	owned  *Owned
}
