package session

import (
	"time"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// What the doc functions need of a session: shardrouter.SessionContext.

// DocNode is the node's handle.
func (s *Session) DocNode() any { return s.deps.Node }

// WriteTxn is the transaction of the running statement.
func (s *Session) WriteTxn(what string) (engine.Txn, error) {
	if err := s.checkReadOnly(what); err != nil {
		return nil, err
	}
	if err := s.beginTxn(); err != nil {
		return nil, err
	}
	return s.tx.txn, nil
}

// ReadView is the state that the running statement reads.
func (s *Session) ReadView() (engine.View, func(), error) {
	if err := s.standsStill(); err != nil {
		return nil, nil, err
	}
	if s.tx.txn == nil && s.reading != nil {
		return s.reading, func() {}, nil
	}
	return s.SizeView()
}

// InBlock reports a transaction block.
func (s *Session) InBlock() bool { return s.inBlock() }

// Now is the statement's time.
func (s *Session) Now() time.Time {
	return pgEpoch.Add(time.Duration(s.env.StatementTime) * time.Microsecond)
}

// RoleOID is the current role.
func (s *Session) RoleOID() sqltypes.OID { return s.role.OID }

// MayUse reports whether the current role may read or write a collection: its
// owner's members may, and those of pg_read_all_data and pg_write_all_data.
func (s *Session) MayUse(rel *catalog.Relation, write bool) bool {
	all := catalog.PgReadAllData
	if write {
		all = catalog.PgWriteAllData
	}
	return s.MemberOf(rel.Owner) || s.MemberOf(all)
}
