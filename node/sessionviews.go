package node

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"ostraka/exec/syscat"
	"ostraka/pgfront/session"
	"ostraka/pgfront/settings"
	"ostraka/sqltypes"
)

var pgEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// timestamp is a timestamptz, NULL for the zero time.
func timestamp(t time.Time) sqltypes.Datum {
	if t.IsZero() {
		return sqltypes.Null
	}
	return sqltypes.Int(t.Sub(pgEpoch).Microseconds())
}

// sessionIn is the session that reads a relation.
func sessionIn(q *syscat.Query) *session.Session {
	if q.Env != nil && q.Env.Session != nil {
		if s, ok := q.Env.Session.Ext().(*session.Session); ok {
			return s
		}
	}
	return nil
}

// settingRows yields the rows of pg_show_all_settings().
type settingRows struct {
	rows [][]sqltypes.Datum
}

func (r *settingRows) Next() ([]sqltypes.Datum, bool, error) {
	if len(r.rows) == 0 {
		return nil, false, nil
	}
	row := r.rows[0]
	r.rows = r.rows[1:]
	return row, true, nil
}

func init() {
	sqltypes.RegisterSet("show_all_settings", func(c *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.RowSource, error) {
		out := &settingRows{}
		if c.Env == nil || c.Env.Session == nil {
			return out, nil
		}
		if sess, ok := c.Env.Session.Ext().(*session.Session); ok {
			for _, r := range sess.SettingRows() {
				emitSetting(func(v ...sqltypes.Datum) {
					last := len(v) - 1 // before it: the file and the line that a value comes from
					row := append(slices.Clone(v[:last]), sqltypes.Null, sqltypes.Null, v[last])
					out.rows = append(out.rows, row)
				}, r)
			}
		}
		return out, nil
	})
}

// registerSettings declares the relations that show the reading session itself.
func registerSettings(s *syscat.Set) {
	s.Register("pg_catalog.pg_settings", []string{"name", "setting", "unit", "category", "short_desc", "extra_desc", "context", "vartype", "source",
		"min_val", "max_val", "enumvals", "boot_val", "reset_val", "pending_restart"}, false, func(q *syscat.Query, emit syscat.Emit) error {
		if sess := sessionIn(q); sess != nil {
			for _, r := range sess.SettingRows() {
				emitSetting(emit, r)
			}
		}
		return nil
	})
	s.Register("pg_catalog.pg_prepared_statements", []string{"name", "statement", "prepare_time", "parameter_types", "from_sql", "generic_plans", "custom_plans"},
		true, func(q *syscat.Query, emit syscat.Emit) error {
			sess := sessionIn(q)
			if sess == nil {
				return nil
			}
			for _, p := range sess.PreparedStatements() {
				types := make([]sqltypes.Datum, len(p.Params))
				for i, t := range p.Params {
					types[i] = oid(t)
				}
				emit(sqltypes.Text(p.Name), sqltypes.Text(p.Statement), sqltypes.Int(p.At),
					sqltypes.MakeVector(sqltypes.TypeByOID(sqltypes.OIDRegtype), types), sqltypes.Bool(p.FromSQL), sqltypes.Int(p.Generic), sqltypes.Int(0))
			}
			return nil
		})
	s.Register("pg_catalog.pg_cursors", []string{"name", "statement", "is_holdable", "is_binary", "is_scrollable", "creation_time"}, true,
		func(q *syscat.Query, emit syscat.Emit) error {
			if sess := sessionIn(q); sess != nil {
				for _, c := range sess.Cursors() {
					emit(sqltypes.Text(c.Name), sqltypes.Text(c.Statement), sqltypes.Bool(c.Hold), sqltypes.Bool(c.Binary), sqltypes.Bool(c.Scroll), sqltypes.Int(c.Created))
				}
			}
			return nil
		})
	s.Register("pg_catalog.pg_locks", []string{"locktype", "database", "relation", "transactionid", "classid", "objid", "objsubid", "virtualxid", "virtualtransaction", "pid", "mode", "granted", "fastpath", "waitstart"}, true,
		func(q *syscat.Query, emit syscat.Emit) error {
			sess := sessionIn(q)
			if sess == nil {
				return nil
			}
			for _, l := range sess.Engine().Locks() {
				rel, xid, class, obj, sub, wait := sqltypes.Null, sqltypes.Null, sqltypes.Null, sqltypes.Null, sqltypes.Null, sqltypes.Null
				if l.Type == "advisory" {
					class, obj, sub = oid(sqltypes.OID(l.Advisory.Hi)), oid(sqltypes.OID(l.Advisory.Lo)), sqltypes.Int(1)
					if l.Advisory.TwoInts {
						sub = sqltypes.Int(2)
					}
				}
				if l.Relation != 0 {
					rel = oid(l.Relation)
				}
				if l.Type == "transactionid" {
					xid = sqltypes.Int(int64(uint32(l.Xid)))
				}
				if !l.Granted {
					wait = timestamp(l.Since)
				}
				emit(sqltypes.Text(l.Type), oid(l.Database), rel, xid, class, obj, sub, sqltypes.Null, sqltypes.Text(fmt.Sprintf("%d/%d", l.PID, l.Xid)),
					sqltypes.Int(int64(l.PID)), sqltypes.Text(l.Mode), sqltypes.Bool(l.Granted), sqltypes.Bool(false), wait)
			}
			vxid := sqltypes.Text(fmt.Sprintf("%d/0", sess.PID()))
			emit(sqltypes.Text("virtualxid"), sqltypes.Null, sqltypes.Null, sqltypes.Null, sqltypes.Null, sqltypes.Null, sqltypes.Null, vxid, vxid,
				sqltypes.Int(int64(sess.PID())), sqltypes.Text("ExclusiveLock"), sqltypes.Bool(true), sqltypes.Bool(true), sqltypes.Null)
			return nil
		})
}

func emitSetting(emit syscat.Emit, r settings.Row) {
	d := r.Def
	if d == nil {
		emit(sqltypes.Text(r.Name), sqltypes.Text(r.Setting), sqltypes.Null, sqltypes.Text("Customized Options"), sqltypes.Text(""), sqltypes.Null, sqltypes.Text("user"),
			sqltypes.Text("string"), sqltypes.Text(r.Source.String()), sqltypes.Null, sqltypes.Null, sqltypes.Null, sqltypes.Text(r.Boot),
			sqltypes.Text(r.Reset), sqltypes.Bool(false))
		return
	}
	lo, hi, enum := sqltypes.Null, sqltypes.Null, sqltypes.Null
	if kind := d.Kind.String(); kind == "integer" || kind == "real" {
		lo, hi = sqltypes.Text(bound(d.Min)), sqltypes.Text(bound(d.Max))
	}
	if d.Enum != nil {
		enum = sqltypes.TextArray(slices.Clone(d.Enum))
	}
	about, ok := syscat.SettingText(d.Name)
	if !ok {
		about = syscat.SettingFact{Category: d.Category, Short: d.Short}
	}
	emit(sqltypes.Text(d.Name), sqltypes.Text(r.Setting), textOrNull(d.Unit), sqltypes.Text(about.Category), sqltypes.Text(about.Short),
		textOrNull(about.Extra), sqltypes.Text(d.Context.String()),
		sqltypes.Text(d.Kind.String()), sqltypes.Text(r.Source.String()), lo, hi, enum, sqltypes.Text(r.Boot), sqltypes.Text(r.Reset), sqltypes.Bool(false))
}

func bound(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e18 {
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
