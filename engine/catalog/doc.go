// Package catalog owns the descriptors of SQL objects and the immutable
// snapshots of all of them that statements bind against.
//
// A Catalog never changes: DDL makes a new one that shares what it did not
// touch, and the descriptors it changed travel as effects of the transaction's
// commit entry, so every replica has the same catalogue at the same position.
package catalog
