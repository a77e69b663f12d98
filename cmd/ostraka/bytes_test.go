package main

import "testing"

func TestByteSize(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "4096": 4096, "64MB": 64 << 20, "64 mb": 64 << 20, "1GiB": 1 << 30, "8kB": 8 << 10, "12B": 12,
		"": -1, "MB": -1, "1.5GB": -1, "-1": -1, "3 apples": -1, "9999999999999TB": -1, "99999999999999999999": -1} {
		got := int64(-1)
		if err := (byteSize{&got}).Set(text); (err != nil) != (want < 0) || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
}
