package syscat

import (
	_ "embed"
	"strings"
	"sync"

	"ostraka/sqltypes"
)

//go:embed facts/settings.tsv
var settingsTSV string

// SettingFact is what PostgreSQL's pg_settings says about one of its settings.
type SettingFact struct {
	Category, Short, Extra string
	Flags                  []string // as pg_settings_get_flags names them
}

var settingFacts = sync.OnceValue(func() map[string]SettingFact {
	out := map[string]SettingFact{}
	for line := range strings.Lines(settingsTSV) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		x := SettingFact{Category: copyUnescape.Replace(f[1]), Short: copyUnescape.Replace(f[2])}
		if f[3] != `\N` {
			x.Extra = copyUnescape.Replace(f[3])
		}
		if n := len(f) - 1; f[n] != "" {
			x.Flags = strings.Split(f[n], ",")
		}
		out[f[0]] = x
	}
	return out
})

func init() {
	sqltypes.RegisterScalar("pg_settings_get_flags", func(_ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
		for name, f := range settingFacts() {
			if strings.EqualFold(name, a[0].S) {
				return sqltypes.TextArray(f.Flags), nil
			}
		}
		return sqltypes.Null, nil
	})
}

// SettingText returns the descriptions of a setting that PostgreSQL has too.
func SettingText(name string) (SettingFact, bool) {
	f, ok := settingFacts()[name]
	return f, ok
}
