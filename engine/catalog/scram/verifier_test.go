package scram

import "testing"

func TestVerifier(t *testing.T) {
	v, err := Make("sesame")
	if err != nil {
		t.Fatal(err)
	}
	w, ok := Parse(v.String())
	if !ok || w.String() != v.String() {
		t.Fatalf("%s does not parse back", v)
	}
	if !Matches(v.String(), "joe", "sesame") || Matches(v.String(), "joe", "other") {
		t.Fatal("password check")
	}
	if m := MD5("joe", "sesame"); !Matches(m, "joe", "sesame") || Matches(m, "jane", "sesame") {
		t.Fatal("md5 check")
	}
	for _, bad := range []string{"", "SCRAM-SHA-256$", "SCRAM-SHA-256$0:AA==$AA==:AA==", "SCRAM-SHA-256$4096:AA==$AA==:AA==", "md5xyz"} {
		if _, ok := Parse(bad); ok {
			t.Errorf("%q parses", bad)
		}
	}
	if s, _ := Encrypt(v.String()); s != v.String() {
		t.Error("a verifier was hashed again")
	}
}
