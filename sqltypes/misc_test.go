package sqltypes

import "testing"

func TestBytesLikeTypes(t *testing.T) {
	checkInOut(t, testEnv(), []inOut{
		{"bytea", `\x4142 ff`, `\x4142ff`, ""}, {"bytea", `a\\b\101`, `\x615c6241`, ""},
		{"bytea", `\x1`, "invalid hexadecimal data: odd number of digits", "22023"},
		{"bytea", `\xzz`, `invalid hexadecimal digit: "z"`, "22023"}, {"bytea", `a\b`, "invalid input syntax for type bytea", "22P02"},
		{"uuid", "{a0eebc999c0b4ef8bb6d6bb9bd380a11}", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", ""},
		{"uuid", "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", ""},
		{"uuid", "{a0eebc999c0b4ef8bb6d6bb9bd380a11", `invalid input syntax for type uuid: "{a0eebc999c0b4ef8bb6d6bb9bd380a11"`, "22P02"},
		{"money", "$1,234.567", "$1,234.57", ""}, {"money", "(5.5)", "-$5.50", ""}, {"money", "-$1", "-$1.00", ""}, {"money", "$-1", "-$1.00", ""},
		{"money", "1234567.895", "$1,234,567.90", ""}, {"money", "x", `invalid input syntax for type money: "x"`, "22P02"},
		{"money", "92233720368547758.08", `value "92233720368547758.08" is out of range for type money`, "22003"},
		{"money", "1.2.3", `invalid input syntax for type money: "1.2.3"`, "22P02"},
		{"varbit", "x1F", "00011111", ""}, {"varbit", "b11", "11", ""}, {"varbit", "", "", ""}, {"varbit", "12", `"2" is not a valid binary digit`, "22P02"},
		{"tid", " (4294967295,65535) ", "(4294967295,65535)", ""}, {"tid", "(1,99999)", `invalid input syntax for type tid: "(1,99999)"`, "22P02"},
		{"pg_lsn", "16/B374D848", "16/B374D848", ""}, {"pg_lsn", "1/123456789", `invalid input syntax for type pg_lsn: "1/123456789"`, "22P02"},
		{"inet", "192.168.1.5/24", "192.168.1.5/24", ""}, {"cidr", "10.1", "10.1.0.0/16", ""}, {"cidr", "10", "10.0.0.0/8", ""},
		{"cidr", "192.1", "192.1.0.0/24", ""}, {"cidr", "224.1", "224.1.0.0/16", ""}, {"inet", "::ffff:1.2.3.4", "::ffff:1.2.3.4", ""},
		{"inet", "2001:0db8:0:0:1:0:0:1", "2001:db8::1:0:0:1", ""}, {"inet", "::1", "::1", ""}, {"inet", "01.2.3.4", "1.2.3.4", ""},
		{"inet", "10.1", `invalid input syntax for type inet: "10.1"`, "22P02"}, {"cidr", "192.168.1.5/24", `invalid cidr value: "192.168.1.5/24"`, "22P02"},
		{"inet", "::1/129", `invalid input syntax for type inet: "::1/129"`, "22P02"},
		{"macaddr", "0800.2b01.0203", "08:00:2b:01:02:03", ""}, {"macaddr", "08002b-010203", "08:00:2b:01:02:03", ""},
		{"macaddr", "08:00:2b:01:02:1ff", `invalid octet value in "macaddr" value: "08:00:2b:01:02:1ff"`, "22003"},
		{"macaddr8", "08:00:2b:01:02:03", "08:00:2b:ff:fe:01:02:03", ""},
	})
}
