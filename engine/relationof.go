package engine

// PartitionMover is a Txn that tells those who wait for a row that it has gone to
// another partition, when it has been deleted for that.
type PartitionMover interface{ MovedElsewhere(ref RowRef) }

// StorageOf is the storage id that a row's key lies under (catalog.Relation.StorageID):
// among the tables of a tree it tells which one a row is of.
func (r RowRef) StorageOf() uint64 {
	if len(r.Key) == 0 {
		return 0
	}
	n := int(r.Key[0] & 0x0f)
	var id uint64
	for i := 1; i <= n && i < len(r.Key); i++ {
		id = id<<8 | uint64(r.Key[i])
	}
	return id
}
