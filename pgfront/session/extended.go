package session

import (
	"ostraka/planner/parse"
	"slices"

	"ostraka/expr"
	"ostraka/pgfront/wire"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// extended runs the handler of one extended-protocol message; after an error
// everything up to Sync is skipped.
func (s *Session) extended(body []byte, f func([]byte) error) error {
	s.mu.Lock()
	running := s.running
	s.mu.Unlock()
	if !running {
		s.begin("")
	}
	if err := f(body); err != nil {
		s.failExtended(s.lostLeadExtended(err))
	}
	return s.fatalEnd()
}

// failExtended answers a message with an error, after the answers to the messages before it
// that the upstream session still owes; an error among those is the first, and the only one told.
func (s *Session) failExtended(err error) {
	if earlier := s.drainUpstream(); earlier != nil {
		err = earlier
	}
	s.fail(err)
	s.skip = true
}

// sync ends the implicit transaction of a series of messages.
func (s *Session) sync() error {
	failed := s.skip
	s.skip = false
	if err := s.drainUpstream(); err != nil {
		if !failed {
			s.fail(err)
		}
		failed = true
	}
	if err := s.syncUpstream(failed); err != nil && !failed {
		s.fail(err)
	}
	if s.tx.state == txImplicit {
		if failed {
			s.rollbackTransaction()
		} else if err := s.commitTransaction(); err != nil {
			s.fail(err)
		}
	}
	s.end()
	s.ready()
	return s.fatalEnd()
}

// parseMessage handles Parse.
func (s *Session) parseMessage(body []byte) error {
	f := wire.NewFields(body)
	name := string(f.CString())
	raw := f.CString()
	var declared []sqltypes.OID
	for n := f.Count(4); n > 0; n-- {
		declared = append(declared, sqltypes.OID(uint32(f.Int32())))
	}
	if err := f.End(); err != nil {
		return err
	}
	text, err := s.conf.encoding.Decode(raw)
	if err != nil {
		return err
	}
	s.noteQuery(text)
	if name == "" {
		delete(s.stmts, "")
	}
	if s.conf.escapeStrings {
		var err error
		if text, err = parse.EscapeStrings(text); err != nil {
			return err
		}
	}
	if p := s.parsedBefore(text, declared); p != nil {
		if s.tx.state == txFailed {
			return errAborted()
		}
		s.startTransaction()
		if !s.goesUpstream(p.stmt) {
			if err := s.drainUpstream(); err != nil {
				return err
			}
			return s.keepStatement(name, p)
		}
	}
	list, err := s.deps.Planner.Parse(text)
	if err != nil {
		return err
	}
	if len(list) > 1 {
		return pgerror.New(pgerror.SyntaxError, "cannot insert multiple commands into a prepared statement")
	}
	p := &prepared{name: name, text: text, declared: declared, at: s.now()}
	if len(list) == 1 {
		p.stmt = list[0]
		if s.tx.state == txFailed && !exits(p.stmt.AST) {
			return errAborted()
		}
		s.startTransaction()
		s.awaitOwn()
		s.classify(s.catalog(), p.stmt, text)
		if s.goesUpstream(p.stmt) {
			if err := s.remoteParse(p, body); err != nil {
				return err
			}
		} else {
			if err := s.drainUpstream(); err != nil {
				return err
			}
			if err := s.analyzeFresh(p); err != nil {
				return err
			}
			for i, t := range p.params {
				if t == 0 || t == sqltypes.OIDUnknown {
					return pgerror.New(pgerror.IndeterminateDatatype, "could not determine data type of parameter $%d", i+1)
				}
			}
		}
	} else {
		s.startTransaction()
		p.params = declared
	}
	if err := s.keepStatement(name, p); err != nil {
		return err
	}
	s.remember(p)
	return nil
}

// keepStatement registers a statement under its name and answers Parse.
func (s *Session) keepStatement(name string, p *prepared) error {
	if name != "" {
		if s.stmts[name] != nil {
			return duplicateStatement(name)
		}
		if limit := s.intSetting("ostraka.max_prepared_statements"); int64(len(s.stmts)) >= limit {
			return pgerror.New(pgerror.ConfigurationLimitExceeded, "too many prepared statements (limit %d)", limit)
		}
		if p.name != name {
			c := *p
			c.name, c.at, c.uses = name, s.now(), 0
			p = &c
		}
	}
	p.fixed = true
	s.stmts[name] = p
	if !p.remote {
		s.out.ParseComplete()
	}
	return nil
}

// Bounds of what a session remembers of texts that it was sent to parse.
const (
	maxRemembered     = 256
	maxRememberedText = 16 << 10
)

// remember keeps a planned statement, so that the same text need not be parsed again.
func (s *Session) remember(p *prepared) {
	if p.remote || p.plan == nil || !p.plan.Cacheable || len(p.text) > maxRememberedText {
		return
	}
	if s.parsed == nil || len(s.parsed) >= maxRemembered {
		s.parsed = map[string]*prepared{}
	}
	if p.name != "" {
		c := *p
		c.name = ""
		p = &c
	}
	s.parsed[p.text] = p
}

// parsedBefore finds a statement whose plan is still right.
func (s *Session) parsedBefore(text string, declared []sqltypes.OID) *prepared {
	p := s.parsed[text]
	if p == nil || !slices.Equal(p.declared, declared) || p.key != s.planKey(s.catalog()) {
		return nil
	}
	return p
}

func duplicateStatement(name string) error {
	return pgerror.New(pgerror.DuplicatePstatement, `prepared statement "%s" already exists`, name)
}

func (s *Session) findStatement(name []byte) (*prepared, error) {
	p := s.stmts[string(name)]
	if p == nil {
		if len(name) == 0 {
			return nil, pgerror.New(pgerror.InvalidSqlStatementName, "unnamed prepared statement does not exist")
		}
		return nil, pgerror.New(pgerror.InvalidSqlStatementName, `prepared statement "%s" does not exist`, name)
	}
	return p, nil
}

// bindMessage handles Bind.
func (s *Session) bindMessage(body []byte) error {
	b := &s.bind
	if err := b.Decode(body); err != nil {
		return err
	}
	p, err := s.findStatement(b.Statement)
	if err != nil {
		return err
	}
	s.noteQuery(p.text)
	if len(b.ParamFormats) > 1 && len(b.ParamFormats) != len(b.Params) {
		return pgerror.New(pgerror.ProtocolViolation, "bind message has %d parameter formats but %d parameters", len(b.ParamFormats), len(b.Params))
	}
	if !p.remote && len(b.Params) != len(p.params) {
		return pgerror.New(pgerror.ProtocolViolation, `bind message supplies %d parameters, but prepared statement "%s" requires %d`,
			len(b.Params), b.Statement, len(p.params))
	}
	if s.tx.state == txFailed && p.stmt != nil && (!exits(p.stmt.AST) || len(b.Params) > 0) {
		return errAborted()
	}
	s.startTransaction()
	if p.remote {
		if err := s.localize(p); err != nil {
			return err
		}
	}
	if p.remote || p.stmt != nil && s.goesUpstream(p.stmt) {
		return s.remoteBind(p, string(b.Portal), body)
	}
	if err := s.drainUpstream(); err != nil {
		return err
	}
	if p.plan != nil {
		err := s.refresh(p, s.catalog())
		if err == nil {
			err = p.due()
		}
		if err != nil {
			return err
		}
	}
	po := s.reusePortal(string(b.Portal), p)
	if po.args, err = s.decodeParams(po.args[:0], p, b); err != nil {
		return err
	}
	if len(b.ResultFormats) > 1 && len(b.ResultFormats) != len(p.cols) && (p.stmt == nil || p.stmt.AST.GetFetchStmt() == nil) {
		return pgerror.New(pgerror.ProtocolViolation, "bind message has %d result formats but query has %d columns", len(b.ResultFormats), len(p.cols))
	}
	for _, f := range b.ParamFormats {
		if f != 0 && f != 1 {
			return pgerror.New(pgerror.InvalidParameterValue, "unsupported format code: %d", f)
		}
	}
	for _, f := range b.ResultFormats {
		if f != 0 && f != 1 {
			return pgerror.New(pgerror.InvalidParameterValue, "unsupported format code: %d", f)
		}
	}
	po.plan, po.cols = p.plan, p.cols
	if p.stmt != nil && p.stmt.AST.GetFetchStmt() != nil {
		// the cursor may have been declared after the statement was prepared
		if po.cols, _, err = s.utilityColumns(p); err != nil {
			return err
		}
	}
	po.formats = append(po.formats[:0], b.ResultFormats...)
	po.enc = nil
	if p.plan != nil && p.cols != nil {
		if po.enc, err = s.encoder(p, p.cols, po.formats); err != nil {
			return err
		}
	}
	if err := s.addPortal(po); err != nil {
		return err
	}
	s.out.BindComplete()
	return nil
}

// reusePortal returns an empty portal; the previous unnamed one is recycled.
func (s *Session) reusePortal(name string, p *prepared) *portal {
	if name == "" {
		old := s.portals[""]
		if old != nil && !old.cursor {
			old.close()
			delete(s.portals, "")
		} else {
			old, s.spare = s.spare, nil
		}
		if old != nil {
			*old = portal{s: s, p: p, args: old.args, formats: old.formats, batch: old.batch}
			return old
		}
	}
	return &portal{s: s, name: name, p: p}
}

// decodeParams reads the parameter values in the types of the statement.
func (s *Session) decodeParams(dst []sqltypes.Datum, p *prepared, b *wire.Bind) ([]sqltypes.Datum, error) {
	for i, raw := range b.Params {
		if raw == nil {
			dst = append(dst, sqltypes.Null)
			continue
		}
		d, text, err := s.decodeParam(p.params[i], formatOf(b.ParamFormats, i), raw, i)
		if err != nil {
			return dst, inParameter(err, string(b.Portal), i+1, text)
		}
		dst = append(dst, d)
	}
	return dst, nil
}

func (s *Session) decodeParam(oid sqltypes.OID, format int16, raw []byte, i int) (d sqltypes.Datum, text bool, err error) {
	t := sqltypes.LookupType(&s.env, oid)
	if t == nil {
		return d, false, pgerror.New(pgerror.UndefinedObject, "type with OID %d does not exist", oid)
	}
	if format == 1 {
		if t.Recv == nil {
			return d, false, pgerror.New(pgerror.UndefinedFunction, "no binary input function available for type %s", sqltypes.FormatType(t.OID, -1))
		}
		d, err = t.Recv(&s.env, raw, -1)
		return d, false, err
	}
	if t.In == nil {
		return d, true, pgerror.NotSupported("input of type %s", sqltypes.FormatType(t.OID, -1))
	}
	v, err := s.conf.encoding.Decode(raw)
	if err != nil {
		return d, true, err
	}
	d, err = t.In(&s.env, v, -1)
	return d, true, err
}

// inParameter adds PostgreSQL's context line to an error in a parameter's value.
func inParameter(err error, portal string, n int, text bool) error {
	e, ok := err.(*pgerror.Error)
	if !ok {
		return err
	}
	c := *e
	value := ""
	if text {
		value = " = '...'"
	}
	if portal == "" {
		c.Where = sprintf("unnamed portal parameter $%d%s", n, value)
	} else {
		c.Where = sprintf("portal \"%s\" parameter $%d%s", portal, n, value)
	}
	return &c
}

// describeMessage handles Describe.
func (s *Session) describeMessage(body []byte) error {
	f := wire.NewFields(body)
	kind, name := f.Byte(), f.CString()
	if err := f.End(); err != nil {
		return err
	}
	switch kind {
	case 'S':
		p, err := s.findStatement(name)
		if err != nil {
			return err
		}
		if p.remote && s.up != nil && s.up.dirty && s.up.parsed[p.name] == p {
			return s.remoteDescribe(body) // in the series of messages that prepared it
		}
		if p.remote && s.tx.state != txFailed {
			s.startTransaction()
			if err := s.localize(p); err != nil {
				return err
			}
		}
		if p.remote {
			return s.remoteDescribe(body)
		}
		if err := s.drainUpstream(); err != nil {
			return err
		}
		s.startTransaction()
		if s.tx.state == txFailed && p.cols != nil {
			return errAborted()
		}
		if p.plan != nil {
			if err := s.refresh(p, s.catalog()); err != nil {
				return err
			}
		}
		s.out.Begin('t')
		s.out.Int16(int16(len(p.params)))
		for _, t := range p.params {
			s.out.Uint32(uint32(t))
		}
		s.out.End()
		if p.cols == nil {
			s.out.NoData()
		} else {
			s.rowDescription(p.cols, nil)
		}
		return nil
	case 'P':
		po := s.portals[string(name)]
		if po == nil {
			return noPortal(name)
		}
		if po.remote {
			return s.remoteDescribe(body)
		}
		if err := s.drainUpstream(); err != nil {
			return err
		}
		if s.tx.state == txFailed && po.cols != nil {
			return errAborted()
		}
		if po.cols == nil {
			s.out.NoData()
		} else {
			s.rowDescription(po.cols, po.formats)
		}
		return nil
	}
	return pgerror.New(pgerror.ProtocolViolation, "invalid DESCRIBE message subtype %d", kind)
}

func noPortal(name []byte) error {
	return pgerror.New(pgerror.InvalidCursorName, `portal "%s" does not exist`, name)
}

// executeMessage handles Execute.
func (s *Session) executeMessage(body []byte) error {
	f := wire.NewFields(body)
	name := f.CString()
	max := int64(f.Int32())
	if err := f.End(); err != nil {
		return err
	}
	po := s.portals[string(name)]
	if po == nil {
		return noPortal(name)
	}
	if max < 0 {
		max = 0
	}
	if po.remote {
		return s.remoteExecute(po, body)
	}
	if err := s.drainUpstream(); err != nil {
		return err
	}
	if po.p.stmt == nil {
		s.out.EmptyQueryResponse()
		return nil
	}
	if s.tx.state == txFailed && !exits(po.p.stmt.AST) {
		return errAborted()
	}
	s.noteQuery(po.p.text)
	s.startTransaction()
	began, more := s.now(), po.started
	s.counting = counting{}
	var err error
	if po.plan != nil {
		err = s.executePlan(po, max)
	} else {
		err = s.executeUtility(po, max)
	}
	if err == nil {
		s.countRan(began, more)
		// The next message starts the clock of the next statement.
		s.end()
	}
	return err
}

func (s *Session) executePlan(po *portal, max int64) error {
	if !po.started && po.spool == nil {
		if err := s.awaitState(po.plan.Class); err != nil {
			return err
		}
		if po.p.cols != nil && (max == 0 || po.plan.Call == nil) {
			if done, err := s.short(po, false); done || err != nil {
				if err == nil {
					s.ran(po.p, po.affected)
					s.out.CommandCompleteCount("SELECT", po.affected)
				}
				return err
			}
		}
		if err := s.start(po); err != nil {
			return err
		}
		if max > 0 && po.plan.Class.Writes() && po.p.cols != nil {
			// What writes runs to its end, whatever the client fetches of its rows.
			if err := po.fill(); err != nil {
				return err
			}
		}
	}
	po.p.uses++
	if po.p.cols == nil {
		if _, _, err := po.forward(0, func(*expr.Batch, int) error { return nil }); err != nil {
			return err
		}
		s.completePlan(po, 0)
		return nil
	}
	enc, out := po.enc, s.out
	n, done, err := po.forward(max, func(b *expr.Batch, i int) error {
		if err := enc.batchRow(out, b, i); err != nil {
			return err
		}
		return out.Err()
	})
	if err != nil {
		return err
	}
	if !done {
		s.ran(po.p, n)
		s.out.PortalSuspended()
		return nil
	}
	s.completePlan(po, n)
	return nil
}

// executeUtility runs a statement without a plan once; its rows can be fetched in parts.
func (s *Session) executeUtility(po *portal, max int64) error {
	if !po.started {
		po.started = true
		if err := s.runUtilityPortal(po, max); err != nil {
			return err
		}
		s.ran(po.p, tagRows(po.tag))
		if po.spool == nil {
			s.out.CommandComplete(po.tag)
			return nil
		}
	}
	if po.spool == nil {
		if po.cols == nil {
			return pgerror.New(pgerror.ObjectNotInPrerequisiteState, `portal "%s" cannot be run`, po.name)
		}
		s.out.CommandComplete(zeroTag(po.tag))
		return nil
	}
	n, done, err := po.forwardSpool(max, func(b *expr.Batch, i int) error { return po.enc.batchRow(s.out, b, i) })
	if err != nil {
		return err
	}
	if !done {
		s.out.PortalSuspended()
		return nil
	}
	if n < po.spool.rows {
		s.out.CommandComplete(zeroTag(po.tag))
	} else {
		s.out.CommandComplete(po.tag)
	}
	return nil
}

// zeroTag is the tag of a portal that is executed again after its end.
func zeroTag(tag string) string { return tag }

func (s *Session) runUtilityPortal(po *portal, max int64) error {
	p := po.p
	if err := s.awaitState(p.stmt.Class); err != nil {
		return err
	}
	o, err := s.utility(p, po)
	if err != nil {
		return err
	}
	po.tag = o.tag
	if o.cols == nil {
		if p.stmt.AST.GetTransactionStmt() != nil {
			return nil
		}
		return nil
	}
	formats := po.formats
	if o.formats != nil {
		formats = o.formats
	}
	if po.enc, err = newRowEncoder(&s.env, s.conf.encoding, o.cols, formats); err != nil {
		return err
	}
	if max == 0 {
		po.tag, err = o.run(func(b *expr.Batch, i int) error {
			if err := po.enc.batchRow(s.out, b, i); err != nil {
				return err
			}
			return s.out.Err()
		})
		return err
	}
	po.cols = o.cols
	sp := s.newSpool(len(o.cols))
	po.tag, err = o.run(func(b *expr.Batch, i int) error { return sp.appendBatch(b, i) })
	if err != nil {
		sp.close()
		return err
	}
	po.spool = sp
	return nil
}

// closeMessage handles Close.
func (s *Session) closeMessage(body []byte) error {
	f := wire.NewFields(body)
	kind, name := f.Byte(), f.CString()
	if err := f.End(); err != nil {
		return err
	}
	switch kind {
	case 'S':
		if p := s.stmts[string(name)]; p != nil {
			delete(s.stmts, string(name))
			if p.remote {
				return s.remoteClose(body)
			}
		}
	case 'P':
		if p := s.portals[string(name)]; p != nil {
			p.close()
			delete(s.portals, string(name))
			if p.remote {
				return s.remoteClose(body)
			}
		}
	default:
		return pgerror.New(pgerror.ProtocolViolation, "invalid CLOSE message subtype %d", kind)
	}
	if err := s.drainUpstream(); err != nil {
		return err
	}
	s.out.CloseComplete()
	return nil
}

// functionCall refuses the fast path: functions are called by SQL.
func (s *Session) functionCall(body []byte) error {
	f := wire.NewFields(body)
	oid := sqltypes.OID(uint32(f.Int32()))
	if err := s.drainUpstream(); err != nil {
		s.failExtended(err)
		return s.fatalEnd()
	}
	s.begin("<FASTPATH> function call")
	switch {
	case f.Err() != nil:
		s.fail(f.Err())
	case s.tx.state == txFailed:
		s.fail(errAborted())
	default:
		if p := sqltypes.ProcByOID(oid); p == nil {
			s.fail(pgerror.New(pgerror.UndefinedFunction, "function with OID %d does not exist", oid))
		} else {
			s.fail(pgerror.NotSupported("calling %s through the function call protocol", p.Name))
		}
	}
	s.end()
	s.ready()
	return s.fatalEnd()
}

// noteQuery shows the text in pg_stat_activity.
func (s *Session) noteQuery(text string) {
	if !s.conf.trackActivity {
		return
	}
	s.mu.Lock()
	s.act.query = text
	s.mu.Unlock()
}
