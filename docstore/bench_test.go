package docstore

import (
	"fmt"
	"strings"
	"testing"
)

// benchStore has n documents of about 500 bytes.
func benchStore(b *testing.B, n int) *testStore {
	s := newStore(b)
	var docs []string
	for i := range n {
		docs = append(docs, fmt.Sprintf(`{"_id":%d,"name":"user %d","email":"user%d@example.org","age":%d,"region":"r%d","active":%t,"score":%d.%02d,`+
			`"address":{"city":"city %d","street":"%d Long Street"},"tags":["t%d","all"],"bio":"%s"}`,
			i, i, i, i%90, i%50, i%3 == 0, i%1000, i%100, i%200, i%900, i%20, strings.Repeat("lorem ipsum ", 18)))
	}
	s.insert("bench", docs...)
	s.index("bench", `{"fields":["email"]}`)
	b.ResetTimer()
	b.ReportAllocs()
	return s
}

func BenchmarkFilterScan(b *testing.B) {
	s := benchStore(b, 20000)
	f := parse(b, `{"age":{"$gt":40},"address.city":"city 7","active":true}`)
	for b.Loop() {
		s.do(&Command{Op: OpCount, Collection: "bench", Filter: f})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/20000, "ns/doc")
}

func BenchmarkFindByID(b *testing.B) {
	s := benchStore(b, 20000)
	for i := 0; b.Loop(); i++ {
		s.do(&Command{Op: OpFind, Collection: "bench", Filter: parse(b, fmt.Sprintf(`{"_id":%d}`, i%20000))})
	}
}

func BenchmarkFindByIndex(b *testing.B) {
	s := benchStore(b, 20000)
	for i := 0; b.Loop(); i++ {
		s.do(&Command{Op: OpFind, Collection: "bench", Filter: parse(b, fmt.Sprintf(`{"email":"user%d@example.org"}`, i%20000))})
	}
}

func BenchmarkFilterMatch(b *testing.B) {
	f, err := CompileFilter(parse(b, `{"age":{"$gt":40},"address.city":"city 7","active":true}`))
	if err != nil {
		b.Fatal(err)
	}
	d := parse(b, `{"_id":1,"name":"user 1","email":"user@example.org","age":50,"region":"r","active":true,"score":3.25,"address":{"city":"city 8","street":"Long Street"},"tags":["t","all"],"bio":"x"}`)
	b.ReportAllocs()
	for b.Loop() {
		if ok, _ := f.Match(d); ok {
			b.Fatal("matches")
		}
	}
}

func BenchmarkUpdateByID(b *testing.B) {
	s := benchStore(b, 20000)
	up := parse(b, `{"$inc":{"n":1}}`)
	for i := 0; b.Loop(); i++ {
		s.do(&Command{Op: OpUpdateOne, Collection: "bench", Filter: parse(b, fmt.Sprintf(`{"_id":%d}`, i*7919%20000)), Update: up})
	}
}
