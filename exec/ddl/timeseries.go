package ddl

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// seriesOptions are what WITH (…) may say of a time-series table, and the spellings
// of TimescaleDB that mean the same.
var seriesOptions = map[string]string{
	"timeseries": "timeseries", "timescaledb.hypertable": "timeseries", "tsdb.hypertable": "timeseries",
	"time_column": "time_column", "timescaledb.partition_column": "time_column", "tsdb.partition_column": "time_column",
	"tags": "tags", "timescaledb.segmentby": "tags", "tsdb.segmentby": "tags", "timescaledb.segment_by": "tags", "tsdb.segment_by": "tags",
	"window": "window", "timescaledb.chunk_interval": "window", "tsdb.chunk_interval": "window",
	"retention": "retention",
	// Accepted and without effect: chunks are always ordered by time and compressed.
	"timescaledb.orderby": "", "tsdb.orderby": "", "timescaledb.order_by": "", "tsdb.order_by": "", "timescaledb.compress": "", "timescaledb.compress_orderby": "", "timescaledb.enable_columnstore": "", "tsdb.columnstore": "", "timescaledb.columnstore": "",
}

// SeriesOptions are the options of a time-series table by their own names.
type SeriesOptions map[string]string

// splitSeriesOptions parts reloptions into those of time series and the others.
func splitSeriesOptions(list []string) (SeriesOptions, []string) {
	opts := SeriesOptions{}
	var rest []string
	for _, o := range list {
		name, value, _ := strings.Cut(o, "=")
		own, known := seriesOptions[name]
		switch {
		case !known:
			rest = append(rest, o)
		case own != "":
			opts[own] = value
		}
	}
	on := opts["timeseries"]
	if on == "" || on == "false" || on == "off" || on == "0" {
		return nil, list
	}
	return opts, rest
}

const (
	defaultWindow = 86_400_000_000             // one day, µs
	maxSpan       = 1000 * 365 * 86400_000_000 // of a window or a retention
)

// timeSeries makes the relation a time-series table when its options say so.
func (b *builder) timeSeries() error {
	opts, rest := splitSeriesOptions(b.rel.Options)
	if opts == nil {
		return nil
	}
	if b.rel.Persistence != 'p' {
		return pgerror.NotSupported("temporary and unlogged time-series tables")
	}
	_, listed := opts["tags"]
	if !listed && opts["time_column"] == "" && !slices.ContainsFunc(b.rel.Options, func(o string) bool { return strings.Contains(o, "hypertable") }) {
		return pgerror.New(pgerror.InvalidParameterValue, "a time-series table needs the option \"tags\"").
			WithHint("Name the columns that tell the series apart: WITH (timeseries, tags = 'host,dc'); tags = '' for a single series.")
	}
	keyed := false
	for _, k := range b.keys { // of a hypertable: its unique key says what the tags are
		if cols := strs(k.Keys); !listed && len(b.keys) == 1 {
			time := opts["time_column"]
			if time == "" {
				if ts, err := SeriesSpec(b.rel, opts); err == nil {
					time = b.rel.Columns[ts.Time-1].Name
				}
			}
			if i := slices.Index(cols, time); i >= 0 {
				opts["tags"], keyed = strings.Join(slices.Delete(slices.Clone(cols), i, i+1), ","), true
			}
		}
	}
	ts, err := SeriesSpec(b.rel, opts)
	if err != nil {
		return err
	}
	if err := b.makeSeries(ts, opts, rest); err != nil {
		return err
	}
	if !listed && !keyed {
		b.tellKey()
	}
	return nil
}

// SeriesSpec reads the options of a time-series table.
func SeriesSpec(rel *catalog.Relation, opts SeriesOptions) (*catalog.TimeSeries, error) {
	ts := &catalog.TimeSeries{Window: defaultWindow}
	timed := func(c *catalog.Column) bool {
		return c.Type.OID == sqltypes.OIDTimestamptz || c.Type.OID == sqltypes.OIDTimestamp
	}
	var timeCol *catalog.Column
	if name := opts["time_column"]; name != "" {
		if timeCol = columnByName(rel, name); timeCol == nil {
			return nil, pgerror.New(pgerror.UndefinedColumn, "column %q named as time_column does not exist", name)
		}
	} else {
		for _, c := range rel.Columns {
			if timed(c) && !c.Dropped {
				timeCol = c
				break
			}
		}
		if timeCol == nil {
			return nil, pgerror.New(pgerror.InvalidParameterValue, "time-series table %q has no column of type timestamp with time zone", rel.Name)
		}
	}
	integers := timeCol.Type.OID == sqltypes.OIDInt8
	if !timed(timeCol) && !integers {
		return nil, pgerror.New(pgerror.WrongObjectType, "time column %q must be of type timestamp with time zone, timestamp or bigint", timeCol.Name)
	}
	ts.Time = timeCol.Num
	list, named := opts["tags"]
	for _, name := range strings.Split(list, ",") {
		if name = strings.Trim(strings.TrimSpace(name), `"`); name == "" {
			continue
		}
		c := columnByName(rel, name)
		if c == nil {
			return nil, pgerror.New(pgerror.UndefinedColumn, "column %q named as tag does not exist", name)
		}
		if !tagType(c.Type.OID) {
			return nil, pgerror.New(pgerror.WrongObjectType, "tag %q cannot be of type %s", c.Name, sqltypes.FormatType(c.Type.OID, -1))
		}
		if c == timeCol || slices.Contains(ts.Tags, c.Num) {
			return nil, pgerror.New(pgerror.DuplicateColumn, "column %q is named twice", c.Name)
		}
		ts.Tags = append(ts.Tags, c.Num)
	}
	if !named { // a hypertable without segmentby: what reads like a name
		for _, c := range rel.Columns {
			if !c.Dropped && c.Num != ts.Time && readsLikeName(c) {
				ts.Tags = append(ts.Tags, c.Num)
			}
		}
	}
	for _, c := range rel.Columns {
		if c.Dropped || seriesType(c.Type.OID) {
			continue
		}
		return nil, pgerror.NotSupported("type %s in a time-series table", sqltypes.FormatType(c.Type.OID, -1))
	}
	var err error
	if v := opts["window"]; v != "" {
		if ts.Window, err = seriesSpan("window", v, integers); err != nil {
			return nil, err
		}
	} else if integers {
		ts.Window = defaultWindow * 1000 // nanoseconds, most likely
	}
	if v := opts["retention"]; v != "" {
		if integers {
			return nil, pgerror.NotSupported("retention of a time-series table whose time is a bigint")
		}
		if ts.Retention, err = seriesSpan("retention", v, integers); err != nil {
			return nil, err
		}
	}
	return ts, nil
}

// readsLikeName: a text, or a number that is called id.
func readsLikeName(c *catalog.Column) bool {
	switch c.Type.OID {
	case sqltypes.OIDText, sqltypes.OIDVarchar, sqltypes.OIDUuid:
		return true
	case sqltypes.OIDInt2, sqltypes.OIDInt4, sqltypes.OIDInt8:
		return c.Name == "id" || strings.HasSuffix(c.Name, "_id")
	}
	return false
}

// seriesSpan is a length of time: an interval, or a number for integer times.
func seriesSpan(name, text string, integers bool) (int64, error) {
	bad := func() error {
		return pgerror.New(pgerror.InvalidParameterValue, "invalid value for option \"%s\": \"%s\"", name, text)
	}
	if integers {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n <= 0 {
			return 0, bad()
		}
		return n, nil
	}
	iv, err := sqltypes.ParseInterval(&sqltypes.Env{Formats: sqltypes.DefaultFormats()}, text, -1)
	if err != nil {
		return 0, err
	}
	days := int64(iv.Months)/12*365 + int64(iv.Months)%12*30 + int64(iv.Days)
	if days > maxSpan/defaultWindow || iv.Usec > maxSpan {
		return 0, bad()
	}
	if n := days*defaultWindow + iv.Usec; n > 0 {
		return n, nil
	}
	return 0, bad()
}

func tagType(oid sqltypes.OID) bool {
	switch oid {
	case sqltypes.OIDText, sqltypes.OIDVarchar, sqltypes.OIDUuid, sqltypes.OIDInt2, sqltypes.OIDInt4, sqltypes.OIDInt8, sqltypes.OIDBool:
		return true
	}
	return false
}

func seriesType(oid sqltypes.OID) bool {
	switch oid {
	case sqltypes.OIDFloat8, sqltypes.OIDFloat4, sqltypes.OIDTimestamptz, sqltypes.OIDTimestamp, sqltypes.OIDDate,
		sqltypes.OIDJsonb, sqltypes.OIDJson, sqltypes.OIDBytea, sqltypes.OIDNumeric, sqltypes.OIDInterval, sqltypes.OIDTime, sqltypes.OIDTimetz:
		return true
	}
	if t := sqltypes.TypeByOID(oid); t != nil && t.IsArray && t.Elem != 0 {
		return seriesType(t.Elem)
	}
	return tagType(oid)
}

// refuseSeriesOptions refuses time-series options where a relation is made from a query.
func refuseSeriesOptions(list []string) error {
	for _, o := range list {
		name, _, _ := strings.Cut(o, "=")
		switch {
		case seriesOptions[name] != "" || strings.HasPrefix(name, "timescaledb.") || strings.HasPrefix(name, "timeseries."):
			return pgerror.NotSupported("option %q of a relation made from a query", name)
		}
	}
	return nil
}

// isSeriesKey reports that a constraint is the key that the time-series table has from
// its options: pg_dump writes it once more, after the table. As long as the key has
// the name that it got by itself, it takes the constraint's.
func (b *builder) isSeriesKey(con *pg.Constraint) bool {
	if con.GetContype() != pg.ConstrType_CONSTR_UNIQUE || len(b.rel.Indexes) == 0 {
		return false
	}
	ix, have := b.rel.Indexes[0], strs(con.Keys)
	var want []string
	for _, k := range ix.Keys {
		want = append(want, b.rel.Columns[k.Attr-1].Name)
	}
	name := truncateIdent(con.Conname)
	if !slices.Equal(want, have) {
		return false
	}
	if name == "" || name == ix.Name {
		return true
	}
	if ix.Name != objectName(b.rel.Name, strings.Join(want, "_"), "key") || b.relationExists(b.rel.Schema, name) || b.constraintExists(name) {
		return false
	}
	cp := *ix
	cp.Name, cp.Constraint = name, name
	b.rel.Indexes[0] = &cp
	b.put()
	return true
}

// alterSeries refuses what cannot be done to rows that are elsewhere, and changes
// the options of time series.
func (b *builder) alterSeries(cmd *pg.AlterTableCmd) error {
	switch cmd.Subtype {
	case pg.AlterTableType_AT_AddColumn:
		d := cmd.Def.GetColumnDef()
		if len(d.Constraints) > 0 || d.IsNotNull {
			return pgerror.NotSupported("defaults and constraints of a column added to a time-series table")
		}
		t, err := bind.BindTypeName(b.s.PlanContext(), d.TypeName)
		if err != nil {
			return err
		}
		if !seriesType(t.OID) {
			return pgerror.NotSupported("type %s in a time-series table", sqltypes.FormatType(t.OID, -1))
		}
		return nil
	case pg.AlterTableType_AT_DropColumn:
		if c := columnByName(b.rel, cmd.Name); c != nil && (c.Num == b.rel.TS.Time || slices.Contains(b.rel.TS.Tags, c.Num)) {
			return pgerror.NotSupported("dropping the time or a tag of a time-series table")
		}
		return nil
	case pg.AlterTableType_AT_SetRelOptions, pg.AlterTableType_AT_ResetRelOptions:
		opts, err := relOptions(cmd.Def.GetList().GetItems())
		if err != nil {
			return err
		}
		ts := *b.rel.TS
		for _, o := range opts {
			name, value, _ := strings.Cut(o, "=")
			own, known := seriesOptions[name]
			switch {
			case known && own == "":
				b.notice("chunks of \"%s\" are always compressed, by series and ordered by time", b.rel.Name)
			case name != "retention":
				return pgerror.NotSupported("changing option %q of a time-series table", name)
			case cmd.Subtype == pg.AlterTableType_AT_ResetRelOptions:
				ts.Retention = 0
			case b.rel.Columns[ts.Time-1].Type.OID == sqltypes.OIDInt8:
				return pgerror.NotSupported("retention of a time-series table whose time is a bigint")
			default:
				if ts.Retention, err = seriesSpan(name, value, b.rel.Columns[ts.Time-1].Type.OID == sqltypes.OIDInt8); err != nil {
					return err
				}
			}
		}
		b.rel.TS = &ts
		return nil
	case pg.AlterTableType_AT_ChangeOwner, pg.AlterTableType_AT_ColumnDefault, pg.AlterTableType_AT_DropNotNull, pg.AlterTableType_AT_SetStatistics:
		if c := columnByName(b.rel, cmd.Name); cmd.Subtype == pg.AlterTableType_AT_DropNotNull && c != nil && c.Num == b.rel.TS.Time {
			return pgerror.New(pgerror.InvalidTableDefinition, "the time of a time-series table cannot be null")
		}
		return nil
	}
	return pgerror.NotSupported("ALTER action %s on a time-series table", actionName(cmd.Subtype))
}

// makeSeries enters what makes a relation a time series: the mark and the unique
// key (tags, time), which has no storage of its own.
func (b *builder) makeSeries(ts *catalog.TimeSeries, opts SeriesOptions, rest []string) error {
	for _, c := range b.rel.Columns {
		if c.Identity != 0 || c.Generated != 0 {
			return pgerror.NotSupported("identity and generated columns of time-series tables")
		}
	}
	if len(b.foreign) > 0 {
		return pgerror.NotSupported("foreign keys of time-series tables")
	}
	b.rel.TimeSeries, b.rel.TS = true, ts
	b.rel.Columns[ts.Time-1].NotNull = true
	var names []string
	for _, a := range ts.Tags {
		names = append(names, b.rel.Columns[a-1].Name)
	}
	b.rel.Options = append(rest, "timeseries=true", "time_column="+b.rel.Columns[ts.Time-1].Name, "tags="+strings.Join(names, ","))
	for _, o := range []string{"window", "retention"} {
		if v := opts[o]; v != "" {
			b.rel.Options = append(b.rel.Options, o+"="+v)
		}
	}
	ix := &catalog.Index{Unique: true, NullsNotDistinct: true, Method: "btree", Schema: b.rel.Schema, Owner: b.rel.Owner}
	for _, a := range append(slices.Clone(ts.Tags), ts.Time) {
		c := b.rel.Columns[a-1]
		ix.Keys = append(ix.Keys, catalog.IndexKey{Attr: a, Type: c.Type})
	}
	// A key of the user's must be this one; it gives its name.
	for _, k := range b.keys {
		want := append(names, b.rel.Columns[ts.Time-1].Name)
		have := strs(k.Keys)
		slices.Sort(want)
		slices.Sort(have)
		if !slices.Equal(want, have) {
			return pgerror.NotSupported("a unique key of a time-series table other than its tags and its time")
		}
		ix.Name = truncateIdent(k.Conname)
	}
	b.keys = nil
	if ix.Name == "" {
		ix.Name = b.freeRelationName(b.rel.Schema, b.rel.Name, strings.Join(append(names, b.rel.Columns[ts.Time-1].Name), "_"), "key", b.ownIndexNamed)
	}
	ix.Constraint = ix.Name
	var err error
	if ix.OID, err = b.newOID(); err != nil {
		return err
	}
	if ix.ConstraintOID, err = b.newOID(); err != nil {
		return err
	}
	b.rel.Indexes = append(b.rel.Indexes, ix)
	return nil
}
