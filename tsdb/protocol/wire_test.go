package protocol

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/prompb"
)

// wireText shows what decodeWrite reads of a message.
func wireText(msg []byte) (string, error) {
	var b strings.Builder
	err := decodeWrite(msg, func(msg []byte) error {
		var s, p wireSeries
		if err := s.decode(msg); err != nil {
			return err
		}
		if labels, ok := p.plain(msg); ok {
			samples := p.samples
			if err := p.decode(labels); err != nil || fmt.Sprintf("%q", p.labels) != fmt.Sprintf("%q", s.labels) {
				return fmt.Errorf("%w: labels %q, plain %q", err, s.labels, p.labels)
			}
			p.samples = samples
			if a, b := sampleText(p.samples), sampleText(s.samples); a != b {
				return fmt.Errorf("samples %s, plain %s", b, a)
			}
		}
		for _, l := range s.labels {
			fmt.Fprintf(&b, "%q=%q ", l.name, l.value)
		}
		fmt.Fprintf(&b, "%sh%d\n", sampleText(s.samples), s.histograms)
		return nil
	})
	return b.String(), err
}

func sampleText(list []wireSample) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintf(&b, "%d:%x ", p.t, math.Float64bits(p.v))
	}
	return b.String()
}

// libraryText is the same by Prometheus's own decoder.
func libraryText(msg []byte) (string, error) {
	var req prompb.WriteRequest
	if err := req.Unmarshal(msg); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, s := range req.Timeseries {
		for _, l := range s.Labels {
			fmt.Fprintf(&b, "%q=%q ", l.Name, l.Value)
		}
		for _, p := range s.Samples {
			fmt.Fprintf(&b, "%d:%x ", p.Timestamp, math.Float64bits(p.Value))
		}
		fmt.Fprintf(&b, "h%d\n", len(s.Histograms))
	}
	return b.String(), nil
}

func wireSample1(t testing.TB) []byte {
	req := prompb.WriteRequest{Timeseries: []prompb.TimeSeries{
		{Labels: []prompb.Label{{Name: "__name__", Value: "up"}, {Name: "job", Value: "ü"}}, Samples: []prompb.Sample{{Timestamp: -5, Value: math.Float64frombits(0x7ff0000000000002)}, {Timestamp: 1 << 40, Value: -0.5}}},
		{Labels: []prompb.Label{{Name: "__name__", Value: "h"}}, Histograms: []prompb.Histogram{{Sum: 1}, {Sum: 2}}},
		{}}, Metadata: []prompb.MetricMetadata{{MetricFamilyName: "up", Help: "h"}}}
	msg, err := req.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

func TestDecodeWrite(t *testing.T) {
	msg := wireSample1(t)
	want, err := libraryText(msg)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := wireText(msg); err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	for i := range msg {
		_, _ = wireText(msg[:i]) // cut short: an error or less, no panic
	}
}

func TestWideTags(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"b=2 __name__=up a=<1>", `up {"a":"<1>","b":"2"}`},
		{"__name__=up", `up {}`},
		{"__name__=up a=", `up {}`},
		{"a=1", "a series without a metric name (label __name__)"},
		{"__name__=up a=1 a=2", `label name "a" is not unique`},
		{"__name__=up =2", "label name is empty"},
		{"__name__=up a=\xff", "label name or value is not valid UTF-8"},
	} {
		var ls []wireLabel
		for _, w := range strings.Fields(c.in) {
			k, v, _ := strings.Cut(w, "=")
			ls = append(ls, wireLabel{[]byte(k), []byte(v)})
		}
		tags, err := wideTags(ls)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = tags[0].Value + " " + tags[1].Value
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.in, got, c.want)
		}
	}
}

// FuzzDecodeWrite: what Prometheus's decoder takes is read alike, and nothing makes
// this one fail but by an error.
func FuzzDecodeWrite(f *testing.F) {
	f.Add(wireSample1(f))
	f.Add([]byte{10, 0, 10, 2, 10, 0})
	f.Fuzz(func(t *testing.T, msg []byte) {
		got, err := wireText(msg)
		want, libErr := libraryText(msg)
		if err == nil && libErr == nil && got != want {
			t.Fatalf("%x: got %q, want %q", msg, got, want)
		}
	})
}
