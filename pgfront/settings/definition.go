package settings

import (
	_ "embed"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// Kind is pg_settings.vartype.
type Kind uint8

const (
	Bool Kind = iota
	Integer
	Real
	String
	Enum
)

func (k Kind) String() string { return [...]string{"bool", "integer", "real", "string", "enum"}[k] }

// Context is pg_settings.context: who may change a parameter, and when.
type Context uint8

const (
	Internal Context = iota // never
	Postmaster
	Sighup
	SuperuserBackend
	Backend
	Superuser
	User
)

var contextNames = [...]string{"internal", "postmaster", "sighup", "superuser-backend", "backend", "superuser", "user"}

func (c Context) String() string { return contextNames[c] }

// Definition describes one parameter.
type Definition struct {
	Name     string
	Kind     Kind
	Unit     string // base unit: "", B, kB, 8kB, MB, ms, s, min
	Context  Context
	Min, Max float64
	Enum     []string
	Boot     string // default of this server
	Category string
	Short    string
	// List: a comma-separated list of identifiers or words (GUC_LIST_INPUT);
	// Quote: each element is quoted like an identifier (GUC_LIST_QUOTE).
	List, Quote bool
	Report      bool // ParameterStatus on change
	Explain     bool // shown by EXPLAIN (SETTINGS)
	NoShowAll   bool
	NoResetAll  bool
	// Plan: plans depend on it.
	Plan bool
}

//go:embed facts/pg_settings.txt
var facts string

// reported are the parameters that PostgreSQL marks GUC_REPORT.
var reported = []string{"application_name", "client_encoding", "DateStyle", "default_transaction_read_only", "in_hot_standby",
	"integer_datetimes", "IntervalStyle", "is_superuser", "server_encoding", "server_version", "session_authorization",
	"standard_conforming_strings", "TimeZone"}

var lists = map[string]bool{"search_path": true, "DateStyle": true, "temp_tablespaces": true, "session_preload_libraries": true,
	"local_preload_libraries": true, "shared_preload_libraries": true, "unix_socket_directories": true, "listen_addresses": true,
	"log_destination": true, "wal_consistency_checking": true, "synchronous_standby_names": true}

var quoted = map[string]bool{"search_path": true, "temp_tablespaces": true, "session_preload_libraries": true,
	"local_preload_libraries": true, "shared_preload_libraries": true}

var table struct {
	once   sync.Once
	byName map[string]*Definition // lower case
	all    []*Definition          // by lower-case name
}

func load() {
	table.once.Do(func() {
		table.byName = make(map[string]*Definition, 400)
		for line := range strings.Lines(facts) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), "|")
			d := &Definition{Name: f[0], Unit: f[2], Boot: f[7], Category: f[8]}
			switch f[1] {
			case "bool":
				d.Kind = Bool
			case "integer":
				d.Kind = Integer
			case "real":
				d.Kind = Real
			case "enum":
				d.Kind = Enum
				d.Enum = strings.Split(f[6], ",")
			default:
				d.Kind = String
			}
			for i, n := range contextNames {
				if n == f[3] {
					d.Context = Context(i)
				}
			}
			d.Min, _ = strconv.ParseFloat(f[4], 64)
			d.Max, _ = strconv.ParseFloat(f[5], 64)
			d.Explain = strings.Contains(f[9], "EXPLAIN")
			d.NoResetAll = strings.Contains(f[9], "NO_RESET_ALL")
			d.Plan = d.Explain
			define(d)
		}
		ownSettings()
		for _, n := range reported {
			table.byName[strings.ToLower(n)].Report = true
		}
		for n := range lists {
			d := table.byName[strings.ToLower(n)]
			d.List, d.Quote = true, quoted[n]
		}
		for _, d := range table.byName {
			table.all = append(table.all, d)
		}
		sort.Slice(table.all, func(i, j int) bool { return strings.ToLower(table.all[i].Name) < strings.ToLower(table.all[j].Name) })
	})
}

func define(d *Definition) { table.byName[strings.ToLower(d.Name)] = d }

// Lookup finds a parameter by name, whatever its case; nil if there is none.
func Lookup(name string) *Definition {
	load()
	if d := table.byName[name]; d != nil {
		return d
	}
	return table.byName[strings.ToLower(name)]
}

// All lists the parameters by name; the slice is shared.
func All() []*Definition {
	load()
	return table.all
}

// CustomName reports whether name may be a custom parameter: two or more simple
// identifiers separated by dots.
func CustomName(name string) bool {
	parts := strings.Split(name, ".")
	if len(parts) < 2 {
		return false
	}
	for _, p := range parts {
		for i, r := range p {
			switch {
			case r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127:
			case i > 0 && (r >= '0' && r <= '9' || r == '$'):
			default:
				return false
			}
		}
		if p == "" {
			return false
		}
	}
	return true
}
