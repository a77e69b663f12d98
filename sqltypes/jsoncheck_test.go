package sqltypes

import "testing"

// TestCheckJSON: what the parser makes is accepted, and what is accepted can be read.
func TestCheckJSON(t *testing.T) {
	for _, text := range checkedJSON {
		j, err := ParseJSONB(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckJSON(j.s); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		for i := range len(j.s) {
			if CheckJSON(j.s[:i]) == nil {
				readAll(JSON{j.s[:i]})
			}
		}
	}
}

var checkedJSON = []string{`null`, `true`, `1`, `-1.50`, `123456789012345678901234567890.5`, `"ä"`, `[]`, `{}`, `[1,"a",[null]]`,
	`{"a":1,"bb":{"c":[1.5,{"d":false}]},"":""}`}

// readAll uses every accessor.
func readAll(j JSON) {
	_ = j.String()
	for i := range j.Len() {
		if j.Kind() == JSONObject {
			j.Lookup(j.Key(i))
			readAll(j.Value(i))
		} else {
			readAll(j.Index(i))
		}
	}
}

func FuzzCheckJSON(f *testing.F) {
	for _, text := range checkedJSON {
		j, err := ParseJSONB(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(j.s)
	}
	f.Fuzz(func(_ *testing.T, s string) {
		if CheckJSON(s) == nil {
			readAll(JSON{s})
		}
	})
}
