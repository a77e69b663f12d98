package txn

// Class is a family of locks with a conflict table of its own.
type Class uint8

const (
	// ClassRow: rows and index keys, modes engine.RowLock.
	ClassRow Class = iota
	// ClassRelation: modes engine.RelLock.
	ClassRelation
	// ClassAdvisory: AdvisoryShared and AdvisoryExclusive.
	ClassAdvisory
)

// Modes of ClassAdvisory.
const (
	AdvisoryShared    = 1
	AdvisoryExclusive = 2
)

// mask is a set of modes: bit m is mode m.
type mask uint16

func modes(ms ...uint) (r mask) {
	for _, m := range ms {
		r |= 1 << m
	}
	return r
}

// conflicts[class][mode] is the set of modes that mode cannot be held beside
// (PostgreSQL documentation, tables "Conflicting Lock Modes" and "Conflicting
// Row-Level Locks").
var conflicts = [...][9]mask{
	ClassRow: {
		1: modes(4),          // KEY SHARE
		2: modes(3, 4),       // SHARE
		3: modes(2, 3, 4),    // NO KEY UPDATE
		4: modes(1, 2, 3, 4), // UPDATE
	},
	ClassRelation: {
		1: modes(8),                      // ACCESS SHARE
		2: modes(7, 8),                   // ROW SHARE
		3: modes(5, 6, 7, 8),             // ROW EXCLUSIVE
		4: modes(4, 5, 6, 7, 8),          // SHARE UPDATE EXCLUSIVE
		5: modes(3, 4, 6, 7, 8),          // SHARE
		6: modes(3, 4, 5, 6, 7, 8),       // SHARE ROW EXCLUSIVE
		7: modes(2, 3, 4, 5, 6, 7, 8),    // EXCLUSIVE
		8: modes(1, 2, 3, 4, 5, 6, 7, 8), // ACCESS EXCLUSIVE
	},
	ClassAdvisory: {
		AdvisoryShared:    modes(AdvisoryExclusive),
		AdvisoryExclusive: modes(AdvisoryShared, AdvisoryExclusive),
	},
}

var relationModeNames = [...]string{"", "AccessShareLock", "RowShareLock", "RowExclusiveLock",
	"ShareUpdateExclusiveLock", "ShareLock", "ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock"}

var rowModeNames = [...]string{"", "For Key Share", "For Share", "For No Key Update", "For Update"}

// ModeName is the name pg_locks shows.
func ModeName(c Class, mode uint8) string {
	switch c {
	case ClassRelation:
		return relationModeNames[mode]
	case ClassAdvisory:
		if mode == AdvisoryShared {
			return "ShareLock"
		}
		return "ExclusiveLock"
	}
	return rowModeNames[mode]
}
