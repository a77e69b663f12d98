package tsdb

import (
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// time_bucket_gapfill(width, time [, zone] [, start, finish]), locf(value [, prev [,
// treat_null_as_missing]]) and interpolate(value [, prev, next]), as TimescaleDB has
// them. The planner puts a GapFill above the grouping and computes them there; the
// functions themselves only run where there is nothing to fill.

var gapfillFuncs = [][]sqltypes.OID{
	{oidInterval, oidTimestamptz},
	{oidInterval, oidTimestamptz, oidText},
	{oidInterval, oidTimestamp},
	{oidInterval, oidDate},
	{oidInt8, oidInt8},
	{oidInt4, oidInt4},
}

var fillFuncs = []struct {
	name  string
	fill  byte
	value sqltypes.OID
}{
	{"locf", 'l', sqltypes.OIDAnyelement},
	{"interpolate", 'i', oidFloat8},
	{"interpolate", 'i', sqltypes.OIDFloat4},
	{"interpolate", 'i', oidInt8},
	{"interpolate", 'i', oidInt4},
	{"interpolate", 'i', sqltypes.OIDInt2},
}

// bucketProcs are the time_bucket functions by place in bucketFuncs.
var bucketProcs []*sqltypes.Proc

func bucketProc(args []sqltypes.OID) *sqltypes.Proc {
	for _, p := range bucketProcs {
		if len(p.ArgTypes) == len(args) && p.ArgTypes[1] == args[1] && (len(args) < 3 || p.ArgTypes[2] == args[2]) {
			return p
		}
	}
	return nil
}

func registerGapfill() {
	next := firstGapfillProc
	for _, args := range gapfillFuncs {
		names := []string{"bucket_width", "ts", "timezone"}[:len(args)]
		bucket := bucketProc(args)
		sqltypes.RegisterProc(&sqltypes.Proc{OID: next, Name: "time_bucket_gapfill", Namespace: catalog.SchemaPgCatalog, Kind: 'f',
			Volatility: sqltypes.Stable, ArgTypes: append(append([]sqltypes.OID{}, args...), args[1], args[1]), ArgNames: append(append([]string{}, names...), "start", "finish"),
			NumDefaults: 2, Defaults: []string{"NULL", "NULL"}, RetType: args[1], Src: "ostraka_time_bucket_gapfill", Cost: 1, Parallel: 's', Gapfill: bucket,
			Fn: func(*sqltypes.Call, []sqltypes.Datum) (sqltypes.Datum, error) {
				return sqltypes.Null, pgerror.New(pgerror.FeatureNotSupported, "no top level time_bucket_gapfill in group by clause")
			}})
		next++
	}
	for _, f := range fillFuncs {
		args, names, defaults := []sqltypes.OID{f.value, sqltypes.OIDRecord, sqltypes.OIDRecord}, []string{"value", "prev", "next"}, []string{"NULL", "NULL"}
		if f.fill == 'l' {
			args, names, defaults = []sqltypes.OID{f.value, f.value, sqltypes.OIDBool}, []string{"value", "prev", "treat_null_as_missing"}, []string{"NULL", "false"}
		}
		sqltypes.RegisterProc(&sqltypes.Proc{OID: next, Name: f.name, Namespace: catalog.SchemaPgCatalog, Kind: 'f', Volatility: sqltypes.Stable,
			ArgTypes: args, ArgNames: names, NumDefaults: 2, Defaults: defaults, RetType: f.value, Src: "ostraka_" + f.name, Cost: 1, Parallel: 's', Fill: f.fill,
			Fn: func(c *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
				return sqltypes.Null, pgerror.New(pgerror.FeatureNotSupported, "%s must be called in the target list of a query with GROUP BY time_bucket_gapfill(…)", c.Proc.Name)
			}})
		next++
	}
}
