package session

import (
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Sequence functions: the value is the transaction's affair, currval and lastval
// are the session's memory.
func init() {
	reg := func(src string, f func(s *Session, args []sqltypes.Datum) (sqltypes.Datum, error)) {
		sqltypes.RegisterScalar(src, func(c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error) {
			s, ok := sessionOf(c)
			if !ok {
				return sqltypes.Null, pgerror.NotSupported("%s outside of a session", c.Proc.Name)
			}
			return f(s, args)
		})
	}
	reg("nextval_oid", func(s *Session, args []sqltypes.Datum) (sqltypes.Datum, error) {
		seq, err := s.sequenceForWriting(sqltypes.OID(uint32(args[0].I)), "nextval()", "Uw")
		if err != nil {
			return sqltypes.Null, err
		}
		v, err := s.tx.txn.NextVal(s.env.Ctx, seq)
		if err != nil {
			return sqltypes.Null, err
		}
		s.NoteSequence(seq.OID, v)
		return sqltypes.Int(v), nil
	})
	reg("currval_oid", func(s *Session, args []sqltypes.Datum) (sqltypes.Datum, error) {
		seq, err := s.sequence(sqltypes.OID(uint32(args[0].I)))
		if err == nil {
			err = s.mayUseSequence(seq, "rU")
		}
		if err != nil {
			return sqltypes.Null, err
		}
		v, ok := s.CurrVal(seq.OID)
		if !ok {
			return sqltypes.Null, pgerror.New(pgerror.ObjectNotInPrerequisiteState, "currval of sequence \"%s\" is not yet defined in this session", seq.Name)
		}
		return sqltypes.Int(v), nil
	})
	reg("lastval", func(s *Session, _ []sqltypes.Datum) (sqltypes.Datum, error) {
		seq, v, ok := s.LastSequence()
		if !ok || s.catalog().Relation(seq) == nil {
			return sqltypes.Null, pgerror.New(pgerror.ObjectNotInPrerequisiteState, "lastval is not yet defined in this session")
		}
		return sqltypes.Int(v), s.mayUseSequence(s.catalog().Relation(seq), "rU")
	})
	reg("setval_oid", func(s *Session, args []sqltypes.Datum) (sqltypes.Datum, error) {
		return s.setval(args[0], args[1].I, true)
	})
	reg("setval3_oid", func(s *Session, args []sqltypes.Datum) (sqltypes.Datum, error) {
		return s.setval(args[0], args[1].I, args[2].I != 0)
	})
	reg("pg_sequence_last_value", func(s *Session, args []sqltypes.Datum) (sqltypes.Datum, error) {
		seq, err := s.sequence(sqltypes.OID(uint32(args[0].I)))
		if err != nil {
			return sqltypes.Null, err
		}
		if err := s.beginTxn(); err != nil {
			return sqltypes.Null, err
		}
		last, called, err := s.tx.txn.SequenceState(seq)
		if err != nil || !called {
			return sqltypes.Null, err
		}
		return sqltypes.Int(last), nil
	})
}

// sequence finds a sequence by OID.
func (s *Session) sequence(oid sqltypes.OID) (*catalog.Relation, error) {
	rel := s.catalog().Relation(oid)
	if rel == nil {
		return nil, pgerror.New(pgerror.UndefinedTable, "could not open relation with OID %d", oid)
	}
	if rel.Kind != catalog.KindSequence {
		return nil, pgerror.New(pgerror.WrongObjectType, "\"%s\" is not a sequence", rel.Name)
	}
	return rel, nil
}

// mayUseSequence refuses who has none of the privileges on a sequence. The values of
// an identity column go with INSERT on its table.
func (s *Session) mayUseSequence(seq *catalog.Relation, privs string) error {
	if s.role.Super {
		return nil
	}
	cat := s.catalog()
	for i := range len(privs) {
		if cat.HoldsOn(s.role.OID, seq, privs[i], nil) {
			return nil
		}
	}
	if t := cat.Relation(seq.Sequence.OwnerTable); t != nil && seq.Sequence.OwnerAttr > 0 && t.Columns[seq.Sequence.OwnerAttr-1].Identity != 0 {
		return nil
	}
	return pgerror.New(pgerror.InsufficientPrivilege, "permission denied for sequence %s", seq.Name)
}

func (s *Session) sequenceForWriting(oid sqltypes.OID, what, privs string) (*catalog.Relation, error) {
	seq, err := s.sequence(oid)
	if err == nil {
		err = s.mayUseSequence(seq, privs)
	}
	if err != nil {
		return nil, err
	}
	if s.tx.readOnly && seq.Persistence != 't' {
		return nil, pgerror.New(pgerror.ReadOnlySqlTransaction, "cannot execute %s in a read-only transaction", what)
	}
	return seq, s.beginTxn()
}

func (s *Session) setval(seqArg sqltypes.Datum, value int64, called bool) (sqltypes.Datum, error) {
	seq, err := s.sequenceForWriting(sqltypes.OID(uint32(seqArg.I)), "setval()", "w")
	if err != nil {
		return sqltypes.Null, err
	}
	if d := seq.Sequence; value < d.Min || value > d.Max {
		return sqltypes.Null, pgerror.New(pgerror.NumericValueOutOfRange, "setval: value %d is out of bounds for sequence \"%s\" (%d..%d)", value, seq.Name, d.Min, d.Max)
	}
	if err := s.tx.txn.SetVal(s.env.Ctx, seq, value, called); err != nil {
		return sqltypes.Null, err
	}
	if called {
		last := s.seqs.last
		had := s.seqs.hasLast
		s.NoteSequence(seq.OID, value)
		s.seqs.last, s.seqs.hasLast = last, had // setval is not what lastval reports
	}
	return sqltypes.Int(value), nil
}
