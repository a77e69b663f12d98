package bindtest

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// Mirror reads the catalogue of a live PostgreSQL database, OIDs included, so
// that the binder can be compared with it statement by statement.
func Mirror(ctx context.Context, conn *pgx.Conn) (*Mirrored, error) {
	m := &mirror{ctx: ctx, conn: conn, rels: map[catalog.OID]*catalog.Relation{}}
	for _, step := range []func() error{m.schemas, m.relations, m.columns, m.indexes, m.checks, m.types, m.functions, m.sequences, m.path} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	out := &Mirrored{path: m.searchPath, virtual: map[[2]string]*planner.VirtualRelation{}, byOID: map[sqltypes.OID]*planner.VirtualRelation{}}
	names := map[catalog.OID]string{}
	var changes []catalog.Change
	for _, s := range m.nss {
		names[s.OID] = s.Name
		changes = append(changes, catalog.Put(catalog.PostgresDB, s))
	}
	for _, t := range m.typs {
		changes = append(changes, catalog.Put(catalog.PostgresDB, t))
	}
	for _, r := range m.rels {
		if r.Schema == catalog.SchemaPgCatalog || r.Schema == catalog.SchemaInformationSchema {
			v := &planner.VirtualRelation{Rel: r}
			out.virtual[[2]string{names[r.Schema], r.Name}] = v
			out.byOID[r.OID] = v
			continue
		}
		changes = append(changes, catalog.Put(catalog.PostgresDB, r))
	}
	for _, f := range m.funcs {
		changes = append(changes, catalog.Put(catalog.PostgresDB, f))
	}
	out.cat = catalog.NewSet().Apply(catalog.Bootstrap("postgres")).Apply(changes).Database(catalog.PostgresDB)
	return out, nil
}

// Mirrored is a catalogue read from PostgreSQL; it implements planner.Relations
// for the system catalogue.
type Mirrored struct {
	cat     *catalog.Catalog
	path    []sqltypes.OID
	virtual map[[2]string]*planner.VirtualRelation
	byOID   map[sqltypes.OID]*planner.VirtualRelation
}

// Context is a planning context over the mirrored catalogue.
func (m *Mirrored) Context(source string) *planner.Context {
	return &planner.Context{Catalog: m.cat, Relations: m, Role: catalog.BootstrapRole, Source: source, SearchPath: m.path,
		Env: &sqltypes.Env{Formats: sqltypes.DefaultFormats()}}
}

// VirtualByName implements planner.Relations.
func (m *Mirrored) VirtualByName(schema, name string) *planner.VirtualRelation {
	return m.virtual[[2]string{schema, name}]
}

// VirtualByOID implements planner.Relations.
func (m *Mirrored) VirtualByOID(oid sqltypes.OID) *planner.VirtualRelation { return m.byOID[oid] }

// AllVirtual implements planner.Relations.
func (m *Mirrored) AllVirtual(f func(*planner.VirtualRelation) bool) {
	for _, v := range m.virtual {
		if !f(v) {
			return
		}
	}
}

type mirror struct {
	ctx        context.Context
	conn       *pgx.Conn
	nss        []*catalog.Schema
	rels       map[catalog.OID]*catalog.Relation
	typs       []*catalog.UserType
	funcs      []*catalog.Function
	searchPath []sqltypes.OID
}

func (m *mirror) each(sql string, f func(scan func(...any) error) error) error {
	rows, err := m.conn.Query(m.ctx, sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (m *mirror) schemas() error {
	return m.each(`select oid, nspname from pg_namespace`, func(scan func(...any) error) error {
		s := &catalog.Schema{Owner: catalog.BootstrapRole}
		m.nss = append(m.nss, s)
		return scan((*uint32)(&s.OID), &s.Name)
	})
}

func (m *mirror) relations() error {
	return m.each(`select oid, relname, relnamespace, relkind::text, reltype, coalesce(case when relkind in ('v','m') and relnamespace not in (11, 13207) then pg_get_viewdef(oid) end, ''),
		coalesce(array_to_string(reloptions, ','), '') from pg_class where relkind in ('r','v','m','S','c','p','f') and relnamespace <> 99`, func(scan func(...any) error) error {
		r := &catalog.Relation{Owner: catalog.BootstrapRole, Persistence: 'p', Populated: true}
		var kind, opts string
		if err := scan((*uint32)(&r.OID), &r.Name, (*uint32)(&r.Schema), &kind, (*uint32)(&r.RowType), &r.ViewDef, &opts); err != nil {
			return err
		}
		r.Kind = catalog.RelKind(kind[0])
		if kind == "p" || kind == "f" {
			r.Kind = catalog.KindTable
		}
		r.ViewDef = strings.TrimSuffix(strings.TrimSpace(r.ViewDef), ";")
		if strings.Contains(opts, "check_option=local") {
			r.ViewOptions.CheckOption = 'l'
		} else if strings.Contains(opts, "check_option=cascaded") {
			r.ViewOptions.CheckOption = 'c'
		}
		m.rels[r.OID] = r
		return nil
	})
}

func (m *mirror) columns() error {
	return m.each(`select attrelid, attnum, attname, atttypid, atttypmod, attcollation, attnotnull, attisdropped, attidentity::text, attgenerated::text,
		coalesce(pg_get_expr(adbin, adrelid), ''), coalesce((select objid from pg_depend where classid = 'pg_class'::regclass and refobjid = attrelid and refobjsubid = attnum and deptype in ('a', 'i') limit 1), 0)
		from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
		where attnum > 0 and attrelid in (select oid from pg_class where relkind in ('r','v','m','S','c','p','f') and relnamespace <> 99) order by attrelid, attnum`, func(scan func(...any) error) error {
		var rel uint32
		var ident, gen string
		c := &catalog.Column{}
		if err := scan(&rel, &c.Num, &c.Name, (*uint32)(&c.Type.OID), &c.Type.TypMod, (*uint32)(&c.Type.Collation), &c.NotNull, &c.Dropped, &ident, &gen, &c.Default, (*uint32)(&c.OwnedSequence)); err != nil {
			return err
		}
		c.HasDefault = c.Default != ""
		if ident != "" {
			c.Identity = ident[0]
		}
		if gen != "" {
			c.Generated = gen[0]
		}
		if r := m.rels[catalog.OID(rel)]; r != nil {
			r.Columns = append(r.Columns, c)
		}
		return nil
	})
}

func (m *mirror) indexes() error {
	return m.each(`select i.indrelid, i.indexrelid, c.relname, c.relnamespace, i.indisunique, i.indisprimary, not i.indimmediate, i.indkey::int2[],
		i.indnkeyatts, coalesce(pg_get_expr(i.indpred, i.indrelid), ''), coalesce(k.conname, ''),
		array(select pg_get_indexdef(i.indexrelid, n::int, false) from generate_series(1, i.indnkeyatts) n)
		from pg_index i join pg_class c on c.oid = i.indexrelid left join pg_constraint k on k.conindid = i.indexrelid and k.contype in ('p','u','x')
		where c.relnamespace not in (11, 99, 13207) order by i.indisprimary desc, 2`, func(scan func(...any) error) error {
		var rel uint32
		var keys []int16
		var n int16
		var defs []string
		ix := &catalog.Index{Method: "btree", Ready: true}
		if err := scan(&rel, (*uint32)(&ix.OID), &ix.Name, (*uint32)(&ix.Schema), &ix.Unique, &ix.Primary, &ix.Deferrable, &keys, &n, &ix.Predicate, &ix.Constraint, &defs); err != nil {
			return err
		}
		r := m.rels[catalog.OID(rel)]
		if r == nil {
			return nil
		}
		for i, a := range keys {
			if i >= int(n) {
				ix.Include = append(ix.Include, a)
				continue
			}
			k := catalog.IndexKey{Attr: a}
			if a == 0 {
				k.Expr = defs[i]
			} else {
				k.Type = r.Columns[a-1].Type
			}
			ix.Keys = append(ix.Keys, k)
		}
		r.Indexes = append(r.Indexes, ix)
		return nil
	})
}

func (m *mirror) checks() error {
	return m.each(`select conrelid, oid, conname, pg_get_expr(conbin, conrelid) from pg_constraint where contype = 'c' and conrelid <> 0`, func(scan func(...any) error) error {
		var rel uint32
		k := &catalog.Check{}
		if err := scan(&rel, (*uint32)(&k.OID), &k.Name, &k.Expr); err != nil {
			return err
		}
		if r := m.rels[catalog.OID(rel)]; r != nil {
			r.Checks = append(r.Checks, k)
		}
		return nil
	})
}

func (m *mirror) types() error {
	err := m.each(`select t.oid, typarray, typname, typnamespace, typtype::text, typbasetype, typtypmod, typnotnull, coalesce(typdefault, ''), typrelid,
		coalesce(rngsubtype, 0), coalesce(rngmultitypid, 0), typcollation, coalesce((select typname from pg_type a where a.oid = t.typarray), '')
		from pg_type t left join pg_range on rngtypid = t.oid
		where t.oid >= 13000 and typtype in ('e','d','c','r','m')`, func(scan func(...any) error) error {
		t := &catalog.UserType{Owner: catalog.BootstrapRole}
		var kind string
		if err := scan((*uint32)(&t.OID), (*uint32)(&t.ArrayOID), &t.Name, (*uint32)(&t.Schema), &kind, (*uint32)(&t.Base.OID), &t.Base.TypMod, &t.NotNull,
			&t.Default, (*uint32)(&t.Relation), (*uint32)(&t.Subtype), (*uint32)(&t.Multirange), (*uint32)(&t.Base.Collation), &t.ArrayName); err != nil {
			return err
		}
		t.Kind, t.HasDefault = kind[0], t.Default != ""
		m.typs = append(m.typs, t)
		return nil
	})
	if err != nil {
		return err
	}
	byOID := map[catalog.OID]*catalog.UserType{}
	for _, t := range m.typs {
		byOID[t.OID] = t
	}
	if err := m.each(`select enumtypid, oid, enumlabel, enumsortorder from pg_enum order by enumsortorder`, func(scan func(...any) error) error {
		var typ uint32
		var l catalog.EnumLabel
		if err := scan(&typ, (*uint32)(&l.OID), &l.Label, &l.Order); err != nil {
			return err
		}
		if t := byOID[catalog.OID(typ)]; t != nil {
			t.Labels = append(t.Labels, l)
		}
		return nil
	}); err != nil {
		return err
	}
	return m.each(`select contypid, oid, conname, pg_get_constraintdef(oid) from pg_constraint where contype = 'c' and contypid <> 0`, func(scan func(...any) error) error {
		var typ uint32
		k := &catalog.Check{}
		if err := scan(&typ, (*uint32)(&k.OID), &k.Name, &k.Expr); err != nil {
			return err
		}
		k.Expr = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(k.Expr, " NOT VALID"), "CHECK ("), ")")
		if t := byOID[catalog.OID(typ)]; t != nil {
			t.Checks = append(t.Checks, k)
		}
		return nil
	})
}

func (m *mirror) functions() error {
	return m.each(`select p.oid, proname, pronamespace, prokind::text, coalesce(proallargtypes, proargtypes::oid[]), coalesce(proargmodes::text[], '{}'), coalesce(proargnames, '{}'),
		prorettype, proretset, provolatile::text, proisstrict, coalesce(pg_get_expr(proargdefaults, 0), ''), prosrc, pronargdefaults
		from pg_proc p where p.oid >= 16384 and prokind in ('f','p')`, func(scan func(...any) error) error {
		f := &catalog.Function{Language: "sql", Owner: catalog.BootstrapRole}
		var kind, vol, defs string
		var args []uint32
		var modes []string
		var ndef int16
		if err := scan((*uint32)(&f.OID), &f.Name, (*uint32)(&f.Schema), &kind, &args, &modes, &f.ArgNames, (*uint32)(&f.RetType), &f.RetSet, &vol, &f.Strict, &defs, &f.Body, &ndef); err != nil {
			return err
		}
		f.Kind, f.Volatility = kind[0], sqltypes.Volatility(vol[0])
		for _, a := range args {
			f.ArgTypes = append(f.ArgTypes, sqltypes.ColumnType{OID: sqltypes.OID(a), TypMod: -1})
		}
		for _, mo := range modes {
			f.ArgModes = append(f.ArgModes, mo[0])
		}
		if ndef > 0 {
			f.ArgDefaults = strings.SplitN(defs, ", ", int(ndef))
		}
		m.funcs = append(m.funcs, f)
		return nil
	})
}

func (m *mirror) sequences() error {
	return m.each(`select seqrelid, seqtypid, seqstart, seqincrement, seqmin, seqmax, seqcache from pg_sequence`, func(scan func(...any) error) error {
		var rel uint32
		s := &catalog.Sequence{}
		if err := scan(&rel, (*uint32)(&s.Type), &s.Start, &s.Increment, &s.Min, &s.Max, &s.Cache); err != nil {
			return err
		}
		if r := m.rels[catalog.OID(rel)]; r != nil {
			r.Sequence = s
		}
		return nil
	})
}

func (m *mirror) path() error {
	var names []string
	if err := m.conn.QueryRow(m.ctx, `select current_schemas(true)`).Scan(&names); err != nil {
		return err
	}
	for _, n := range names {
		for _, s := range m.nss {
			if s.Name == n {
				m.searchPath = append(m.searchPath, s.OID)
			}
		}
	}
	return nil
}
