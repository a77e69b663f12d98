package shardrouter

import (
	"ostraka/docstore"
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// shardSession is what the functions need of a session that serves a shard.
type shardSession interface {
	SessionContext
	Engine() engine.Engine
	// ServesShard: the session may be asked as a shard: it is a node's of the
	// cluster, or a superuser's. home says that it is on shard 0.
	ServesShard() (may, home bool)
}

// The functions through which front ends ask a shard; one request, rows of an answer.
func init() {
	for i, f := range []struct {
		name   string
		writes bool
	}{{"shard_read", false}, {"shard_write", true}} {
		p := &sqltypes.Proc{OID: 9490 + sqltypes.OID(i), Name: f.name, Namespace: catalog.SchemaOstraka, Kind: 'f', Strict: true, RetSet: true,
			Volatility: sqltypes.Volatile, ArgTypes: []sqltypes.OID{sqltypes.OIDBytea}, ArgNames: []string{"request"}, RetType: sqltypes.OIDBytea,
			Src: "ostraka_" + f.name, Cost: 100, Rows: 1000, Writes: f.writes, Lang: 12, Parallel: 'u'}
		p.Set = func(c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.RowSource, error) {
			return serveCall(c, args[0].S, f.writes)
		}
		sqltypes.RegisterProc(p)
	}
}

func serveCall(c *sqltypes.Call, request string, mayWrite bool) (sqltypes.RowSource, error) {
	if c.Env == nil || c.Env.Session == nil {
		return nil, pgerror.NotSupported("function %s outside of a session", c.Proc.Name)
	}
	s, ok := c.Env.Session.Ext().(shardSession)
	if !ok {
		return nil, pgerror.NotSupported("function %s outside of a node's session", c.Proc.Name)
	}
	may, home := s.ServesShard()
	req, err := DecodeRequest(request)
	if !may && (err != nil || req.Kind != KindPlain) {
		return nil, pgerror.New(pgerror.InsufficientPrivilege, "permission denied for function %s", c.Proc.Name)
	}
	if err != nil {
		return nil, pgerror.Wrap(err, pgerror.ProtocolViolation, "malformed request to a shard")
	}
	writes, err := req.Writes()
	if err != nil {
		return nil, err
	}
	if req.Kind == KindPlain {
		return servePlain(c, s, req, writes == mayWrite)
	}
	st := &docstore.State{Now: req.Now, Owner: catalog.BootstrapRole}
	release := func() {}
	if writes {
		if !mayWrite {
			return nil, pgerror.New(pgerror.ProtocolViolation, "a request that writes was sent to %s", c.Proc.Name)
		}
		if st.Txn, err = s.WriteTxn(c.Proc.Name + "()"); err != nil {
			return nil, err
		}
		st.View = st.Txn
	} else if st.View, release, err = s.ReadView(); err != nil {
		return nil, err
	}
	res, err := Serve(c.Env.Ctx, s.Engine(), st, home, req)
	release()
	if err != nil {
		return nil, err
	}
	if req.Kind == KindOwned {
		res.Value = identified(s, res.Value)
	}
	return &answer{res: res}, nil
}

// identified adds which cluster serves to the description of a shard.
func identified(s shardSession, v docstore.JSON) docstore.JSON {
	n, ok := s.DocNode().(interface {
		ClusterID() string
		ShardNames() []string
	})
	if !ok {
		return v
	}
	var names []docstore.JSON
	for _, name := range n.ShardNames() {
		names = append(names, sqltypes.JSONStringOf(name))
	}
	return sqltypes.JSONObjectOf(append(v.Pairs(), sqltypes.JSONPair{Key: "cluster", Value: sqltypes.JSONStringOf(n.ClusterID())},
		sqltypes.JSONPair{Key: "shards", Value: sqltypes.JSONArrayOf(names)}))
}

// servePlain executes a command that a router before plain servers sends.
func servePlain(c *sqltypes.Call, s shardSession, req *Request, rightFunction bool) (sqltypes.RowSource, error) {
	if !rightFunction {
		return nil, pgerror.New(pgerror.ProtocolViolation, "a request was sent to the wrong one of shard_read and shard_write")
	}
	n, ok := s.DocNode().(interface{ DocRouter() Router })
	if !ok {
		return nil, pgerror.NotSupported("function %s outside of a node's session", c.Proc.Name)
	}
	if err := checkForeign(req.Cmd); err != nil {
		return nil, pgerror.Wrap(err, pgerror.ProtocolViolation, "malformed request to a shard")
	}
	req.Cmd.KeepKey = req.Key
	res, err := n.DocRouter().Run(c.Env.Ctx, s, req.Cmd)
	if err != nil {
		return nil, err
	}
	return &answer{res: res}, nil
}

// checkForeign checks what was made outside of the cluster.
func checkForeign(cmd *docstore.Command) error {
	all := append([]docstore.JSON{cmd.Filter, cmd.Update, cmd.Pipeline, cmd.Sort, cmd.Projection, cmd.Options, cmd.Vector}, cmd.Docs...)
	if cmd.Index != nil {
		all = append(all, cmd.Index.Partial)
	}
	for _, j := range all {
		if j.IsZero() {
			continue
		}
		if err := sqltypes.CheckJSON(j.Datum().S); err != nil {
			return err
		}
	}
	for _, text := range []string{cmd.Collection, cmd.Field, cmd.Name, cmd.Search, cmd.Metric} {
		if err := sqltypes.ValidText(text); err != nil {
			return err
		}
	}
	return nil
}

// answer is a result as rows.
type answer struct {
	res  docstore.Result
	one  [1]sqltypes.Datum
	done bool
}

func (a *answer) Next() ([]sqltypes.Datum, bool, error) {
	if a.done {
		return nil, false, nil
	}
	if a.res.Docs != nil {
		doc, ok, err := a.res.Docs.Next()
		if err != nil {
			return nil, false, err
		}
		if ok {
			a.one[0] = sqltypes.Text(string(rune(answerDoc)) + doc.Datum().S)
			return a.one[:], true, nil
		}
	}
	a.done = true
	a.one[0] = sqltypes.Bytes(encodeTail(&a.res))
	return a.one[:], true, nil
}

func (a *answer) Close() {
	if a.res.Docs != nil {
		a.res.Docs.Close()
	}
}

// SQL is the statement that asks a server, with the encoded request as its one parameter.
func (r *Request) SQL() (string, error) {
	writes, err := r.Writes()
	if err != nil {
		return "", err
	}
	if writes {
		return sqlWrite, nil
	}
	return sqlRead, nil
}

const (
	sqlRead  = "SELECT * FROM ostraka.shard_read($1)"
	sqlWrite = "SELECT * FROM ostraka.shard_write($1)"
)

// DecodeAnswer reads the rows with which a server answered a request.
func DecodeAnswer(rows [][]byte) (docstore.Result, error) {
	var res docstore.Result
	var docs []docstore.JSON
	for _, r := range rows {
		if len(r) == 0 {
			return res, errMalformed
		}
		switch row := string(r); row[0] {
		case answerDoc:
			docs = append(docs, sqltypes.JSONOf(sqltypes.Text(row[1:])))
		case answerTail:
			var err error
			if res, err = decodeTail(row); err != nil {
				return res, err
			}
		default:
			return res, errMalformed
		}
	}
	if docs != nil {
		res.Docs = docstore.Slice(docs)
	}
	return res, nil
}
