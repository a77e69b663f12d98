package builtin

import (
	"math"
	"runtime"
	"strings"
	"time"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// ServerVersion is the PostgreSQL version whose behaviour Ostraka has, as server_version shows it.
const ServerVersion = "15.18"

// needSession refuses a function that was called without a session (in constant
// folding, which only folds immutable functions, this is a bug).
func needSession(c *Call) (sqltypes.SessionEnv, error) {
	if c.Env == nil || c.Env.Session == nil {
		return nil, pgerror.New(pgerror.InternalError, "function %s called without a session", c.Proc.Name)
	}
	return c.Env.Session, nil
}

// fromSession makes a function without arguments of what the session knows.
func fromSession(f func(s sqltypes.SessionEnv) Datum) sqltypes.ScalarFunc {
	return func(c *Call, _ []Datum) (Datum, error) {
		s, err := needSession(c)
		if err != nil {
			return null, err
		}
		return f(s), nil
	}
}

func currentSetting(c *Call, args []Datum) (Datum, error) {
	s, err := needSession(c)
	if err != nil {
		return null, err
	}
	value, ok := s.Setting(args[0].S)
	if !ok {
		if len(args) > 1 && args[1].Bool() {
			return isNull()
		}
		return fail(pgerror.New(pgerror.UndefinedObject, "unrecognized configuration parameter \"%s\"", args[0].S))
	}
	return text(value)
}

// setConfig is set_config(name, value, is_local); NULLs count as false and "reset".
func setConfig(c *Call, args []Datum) (Datum, error) {
	if args[0].Null {
		return fail(pgerror.New(pgerror.NullValueNotAllowed, "SET requires parameter name"))
	}
	s, err := needSession(c)
	if err != nil {
		return null, err
	}
	if err := s.SetSetting(args[0].S, args[1].S, args[2].True()); err != nil {
		return null, err
	}
	value, ok := s.Setting(args[0].S)
	if !ok {
		return isNull()
	}
	return text(value)
}

func currentSchema(c *Call, _ []Datum) (Datum, error) {
	s, err := needSession(c)
	if err != nil {
		return null, err
	}
	if path := s.SearchPath(false); len(path) > 0 {
		return text(path[0])
	}
	return isNull()
}

func currentSchemas(c *Call, args []Datum) (Datum, error) {
	s, err := needSession(c)
	if err != nil {
		return null, err
	}
	var names []Datum
	for _, n := range s.SearchPath(args[0].Bool()) {
		names = append(names, sqltypes.Text(n))
	}
	return makeArray(sqltypes.OIDName, names)
}

// sleep waits that many seconds or until the statement is cancelled.
func sleep(c *Call, args []Datum) (Datum, error) {
	seconds := args[0].Float()
	if math.IsNaN(seconds) || seconds <= 0 {
		return text("")
	}
	const longest = 1 << 31
	timer := time.NewTimer(time.Duration(math.Min(seconds, longest) * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return text("")
	case <-c.Env.Ctx.Done():
		return fail(pgerror.Wrap(c.Env.Ctx.Err(), pgerror.QueryCanceled, "canceling statement due to user request"))
	}
}

// sleepFor and sleepUntil are written in SQL there.
func sleepFor(c *Call, args []Datum) (Datum, error) {
	s, err := needSession(c)
	if err != nil {
		return null, err
	}
	now := s.Clock()
	until, err := addIntervalTZ(c, now, sqltypes.IntervalOf(args[0]))
	if err != nil {
		return null, err
	}
	return sleep(c, []Datum{sqltypes.Float(float64(until-now) / 1e6)})
}

func sleepUntil(c *Call, args []Datum) (Datum, error) {
	s, err := needSession(c)
	if err != nil {
		return null, err
	}
	return sleep(c, []Datum{sqltypes.Float(float64(args[0].I-s.Clock()) / 1e6)})
}

// timeOfDayText is timeofday(): the wall clock in words.
func timeOfDayText(c *Call, _ []Datum) (Datum, error) {
	s, err := needSession(c)
	if err != nil {
		return null, err
	}
	us := s.Clock()
	t := time.Unix(10957*86400+floorDiv(us, usecPerSec), us%usecPerSec*1000).In(zoneOf(c))
	return text(t.Format("Mon Jan 02 15:04:05.000000 2006 MST"))
}

func setSeed(c *Call, args []Datum) (Datum, error) {
	s, err := needSession(c)
	if err != nil {
		return null, err
	}
	if seed := args[0].Float(); seed < -1 || seed > 1 || math.IsNaN(seed) {
		return fail(pgerror.New(pgerror.InvalidParameterValue, "setseed parameter %g is out of allowed range [-1,1]", seed))
	}
	s.SetSeed(args[0].Float())
	return text("")
}

func version(*Call, []Datum) (Datum, error) {
	return text("PostgreSQL " + ServerVersion + " (Ostraka) on " + runtime.GOARCH + "-" + runtime.GOOS +
		", compiled by " + strings.ReplaceAll(runtime.Version(), "go", "go ") + ", 64-bit")
}

func init() {
	name := func(f func(s sqltypes.SessionEnv) string) sqltypes.ScalarFunc {
		return fromSession(func(s sqltypes.SessionEnv) Datum { return sqltypes.Text(f(s)) })
	}
	constant := func(d Datum) sqltypes.ScalarFunc {
		return func(*Call, []Datum) (Datum, error) { return d, nil }
	}
	scalarTable{
		"pgsql_version":                  version,
		"show_config_by_name":            currentSetting,
		"show_config_by_name_missing_ok": currentSetting,
		"set_config_by_name":             setConfig,
		"current_user":                   name(sqltypes.SessionEnv.CurrentUser),
		"session_user":                   name(sqltypes.SessionEnv.SessionUser),
		"current_database":               name(sqltypes.SessionEnv.Database),
		"current_schema":                 currentSchema,
		"current_schemas":                currentSchemas,
		"pg_backend_pid":                 fromSession(func(s sqltypes.SessionEnv) Datum { return sqltypes.Int(int64(s.BackendPID())) }),
		"clock_timestamp":                fromSession(func(s sqltypes.SessionEnv) Datum { return sqltypes.Int(s.Clock()) }),
		"now":                            func(c *Call, _ []Datum) (Datum, error) { return integer(c.Env.TxnTime) },
		"statement_timestamp":            func(c *Call, _ []Datum) (Datum, error) { return integer(c.Env.StatementTime) },
		"drandom":                        fromSession(func(s sqltypes.SessionEnv) Datum { return sqltypes.Float(s.Random()) }),
		"setseed":                        setSeed,
		"pg_sleep":                       sleep, "pg_sleep_for(interval)": sleepFor, "pg_sleep_until(timestamptz)": sleepUntil, "timeofday": timeOfDayText,
		"getdatabaseencoding": constant(sqltypes.Text("UTF8")),
		"pg_client_encoding":  constant(sqltypes.Text("UTF8")),
		"pg_jit_available":    constant(sqltypes.Bool(false)),
		"pg_is_in_recovery":   constant(sqltypes.Bool(false)),
		"pg_trigger_depth":    constant(sqltypes.Int(0)),
		"pg_typeof":           func(c *Call, _ []Datum) (Datum, error) { return integer(int64(c.ArgTypes[0].OID)) },
		"format_type":         formatType,
		"pg_collation_for":    collationFor,
	}.register()
}

// typeNamer finds the names of user types through the session.
func typeNamer(c *Call) sqltypes.TypeNamer {
	return func(oid sqltypes.OID) (*sqltypes.Type, string) {
		t := sqltypes.LookupType(c.Env, oid)
		if t == nil {
			return nil, ""
		}
		return t, sqltypes.QuoteIdent(t.Name)
	}
}

func formatType(c *Call, args []Datum) (Datum, error) {
	if args[0].Null {
		return isNull()
	}
	typmod := int32(-1)
	if !args[1].Null {
		typmod = int32(args[1].I)
	}
	return text(sqltypes.FormatTypeWith(sqltypes.OID(args[0].I), typmod, typeNamer(c)))
}

// collationFor is pg_collation_for: NULL for types without a collation is an error by name.
func collationFor(c *Call, _ []Datum) (Datum, error) {
	t := sqltypes.LookupType(c.Env, c.ArgTypes[0].OID)
	if t == nil || t.Collation == 0 {
		return fail(pgerror.New(pgerror.DatatypeMismatch, "collations are not supported by type %s", sqltypes.TypeSQLName(c.ArgTypes[0].OID, typeNamer(c))))
	}
	if c.Collation == collationC {
		return text("\"C\"")
	}
	return text("\"default\"")
}
