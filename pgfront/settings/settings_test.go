package settings

import (
	"testing"

	"ostraka/sqltypes/pgerror"
)

func TestValues(t *testing.T) {
	s := NewStore()
	for _, c := range []struct{ name, value, show, err string }{
		{"work_mem", "1.5MB", "1536kB", ""},
		{"work_mem", "64", "64kB", ""},
		{"work_mem", "2GB", "2GB", ""},
		{"work_mem", "1", "", `1 kB is outside the valid range for parameter "work_mem" (64 .. 2147483647)`},
		{"work_mem", "10XB", "", `invalid value for parameter "work_mem": "10XB"`},
		{"statement_timeout", "1.5s", "1500ms", ""},
		{"statement_timeout", "3d", "3d", ""},
		{"statement_timeout", "90000", "90s", ""},
		{"statement_timeout", "0", "0", ""},
		{"enable_seqscan", "maybe", "", `parameter "enable_seqscan" requires a Boolean value`},
		{"enable_seqscan", "f", "off", ""},
		{"random_page_cost", "-1", "", `-1 is outside the valid range for parameter "random_page_cost" (0 .. 1.79769e+308)`},
		{"seq_page_cost", "0.123456789", "0.123457", ""},
		{"vacuum_cost_delay", "1500us", "1500us", ""},
		{"DateStyle", "german", "German, DMY", ""},
		{"DateStyle", "sql, ymd", "SQL, YMD", ""},
		{"DateStyle", "iso", "ISO, YMD", ""},
		{"DateStyle", "foo", "", `invalid value for parameter "DateStyle": "foo"`},
		{"TimeZone", "-5", "<-05>+05", ""},
		{"TimeZone", "america/new_york", "America/New_York", ""},
		{"TimeZone", "utc", "UTC", ""},
		{"TimeZone", "Nope/Zone", "", `invalid value for parameter "TimeZone": "Nope/Zone"`},
		{"foo", "1", "", `unrecognized configuration parameter "foo"`},
		{"foo.bar", "1", "1", ""},
		{"foo-bar.x", "1", "", `invalid configuration parameter name "foo-bar.x"`},
		{"fsync", "off", "", `parameter "fsync" cannot be changed now`},
		{"server_version", "3", "", `parameter "server_version" cannot be changed`},
		{"client_encoding", "unicode", "UTF8", ""},
		{"geqo_effort", "3.7", "4", ""},
		{"bytea_output", "esc", "", `invalid value for parameter "bytea_output": "esc"`},
	} {
		err := s.Set(c.name, c.value, false, Allowed{Superuser: true})
		if c.err != "" {
			if e, ok := err.(*pgerror.Error); !ok || e.Message != c.err {
				t.Errorf("%s = %q: error %v, want %s", c.name, c.value, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s = %q: %v", c.name, c.value, err)
			continue
		}
		if got, _ := s.Show(c.name); got != c.show {
			t.Errorf("%s = %q shows %q, want %q", c.name, c.value, got, c.show)
		}
	}
}

func TestTransactions(t *testing.T) {
	s := NewStore()
	set := func(v string, local bool) {
		if err := s.Set("work_mem", v, local, Allowed{}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(v string) {
		t.Helper()
		if got, _ := s.Show("work_mem"); got != v {
			t.Fatalf("work_mem is %s, want %s", got, v)
		}
	}
	set("5MB", false)
	s.Begin()
	set("6MB", true)
	m := s.Mark()
	set("7MB", false)
	want("7MB")
	s.RollbackTo(m)
	want("6MB")
	s.Commit()
	want("5MB")
	s.Begin()
	set("8MB", false)
	set("9MB", true)
	want("9MB")
	s.Commit()
	want("8MB")
	s.Begin()
	set("1MB", false)
	s.Rollback()
	want("8MB")
	s.ResetAll()
	want("4MB")
}
