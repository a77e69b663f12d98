package router

import (
	"encoding/binary"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// prepareSQL executes PREPARE of a statement with documents of several shards. Statements
// prepared by SQL and by the protocol are the same.
func (s *session) prepareSQL(c state) error {
	oids, err := s.typesNamed(c.types)
	if err != nil {
		return err
	}
	body := append(append([]byte(c.prepare), 0), c.inner.docs.text...)
	body = binary.BigEndian.AppendUint16(append(body, 0), uint16(len(oids)))
	for _, o := range oids {
		body = binary.BigEndian.AppendUint32(body, o)
	}
	return s.register(sent{name: c.prepare, script: c.inner, body: body}, body)
}

// typesNamed asks the first server which types are meant.
func (s *session) typesNamed(names []*pg.Node) ([]uint32, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var exprs []*pg.Node
	var types []sqltypes.OID
	for _, n := range names {
		null := &pg.Node{Node: &pg.Node_AConst{AConst: &pg.A_Const{Isnull: true}}}
		typed := &pg.Node{Node: &pg.Node_TypeCast{TypeCast: &pg.TypeCast{Arg: null, TypeName: n.GetTypeName()}}}
		exprs, types = append(exprs, funcCall("pg_typeof", typed)), append(types, sqltypes.OIDOid)
	}
	vals, err := s.evaluated(exprs, types)
	if err != nil {
		return nil, err
	}
	out := make([]uint32, len(vals))
	for i, v := range vals {
		d, err := sqltypes.TypeByOID(sqltypes.OIDInt8).In(nil, string(v), -1)
		if err != nil {
			return nil, err
		}
		out[i] = uint32(d.I)
	}
	return out, nil
}

// evaluated lets the first server evaluate expressions without parameters, to text.
func (s *session) evaluated(exprs []*pg.Node, types []sqltypes.OID) ([][]byte, error) {
	sql, err := evaluation(exprs, types)
	if err != nil {
		return nil, err
	}
	return s.evaluate(sql, nil)
}

// executeDocs executes EXECUTE of such a statement.
func (s *session) executeDocs(sc *script) error {
	out, st, b, err := s.executeSQL(sc)
	switch {
	case err != nil:
		return s.tellFailed(err)
	case out.text == "":
		return s.answer(out)
	}
	rest := &script{read: st.script.read}
	if handled, err := s.refusedBefore(rest); handled || err != nil {
		return err
	}
	u, err := s.acquire(false)
	if err != nil {
		return s.tellFailed(err)
	}
	q := extendedQuery{sql: out.text, oids: b.oids, params: b.params}
	if err = q.parseAndBind(u); err == nil {
		err = u.Send('D', []byte{'P', 0})
	}
	if err == nil {
		err = u.Send('E', []byte{0, 0, 0, 0, 0})
	}
	if err == nil {
		err = u.Send('S', nil)
	}
	if err == nil {
		err = u.Flush()
	}
	if err != nil {
		return s.lost(u, err, rest, true)
	}
	res := s.pass(u, "12n")
	if res.err != nil {
		return s.lost(u, res.err, rest, true)
	}
	if err := s.after(u, rest, res); err != nil {
		return err
	}
	s.ready()
	return nil
}

// executeSQL finds the values of the parameters and runs the calls.
func (s *session) executeSQL(sc *script) (*outcome, *statement, *bound, error) {
	st, x := s.executed(sc), sc.execute
	if x == nil {
		return nil, nil, nil, errExecuteDocs // EXPLAIN EXECUTE, CREATE TABLE AS EXECUTE
	}
	if s.inFailed() {
		return nil, nil, nil, errFailedBlock()
	}
	want := max(len(st.oids), st.script.docs.params)
	if len(x.Params) != want {
		return nil, nil, nil, pgerror.New(pgerror.SyntaxError, "wrong number of parameters for prepared statement %q", x.Name).
			WithDetail("Expected %d parameters but got %d.", want, len(x.Params))
	}
	b := &bound{oids: st.oids}
	if want > 0 {
		types := make([]sqltypes.OID, want)
		for i := range types {
			types[i] = sqltypes.OIDText
			if i < len(st.oids) && sqltypes.TypeByOID(sqltypes.OID(st.oids[i])) != nil {
				types[i] = sqltypes.OID(st.oids[i])
			}
		}
		vals, err := s.evaluated(x.Params, types)
		if err != nil {
			return nil, nil, nil, err
		}
		b.params = vals
	}
	out, err := s.execute(st.script.docs, b)
	return out, st, b, err
}
