// Package txn owns the parts a transaction is made of that know nothing of
// storage: the lock table with deadlock detection, the write buffer with
// savepoints, and the tracker that makes SERIALIZABLE what it says.
//
// A Table and a Tracker belong to one term of leadership: when the term ends
// they are closed, every wait ends with ErrTermOver, and a new term gets new ones.
// Lock order is in docs/LOCKS.md.
package txn
