package node

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
)

// web sends requests to a node's HTTP listener.
type web struct {
	t    *testing.T
	base string
}

func (w web) send(method, path string, body []byte, headers ...string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(bounded(w.t), method, w.base+path, bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, strings.TrimSpace(string(out))
}

func (w web) want(method, path, body string, status int, text string, headers ...string) {
	w.t.Helper()
	if st, got := w.send(method, path, []byte(body), headers...); st != status || got != text {
		w.t.Errorf("%s %s: %d %s\nwant %d %s", method, path, st, got, status, text)
	}
}

// TestTimeSeriesProtocols writes by line protocol and remote write and reads by SQL,
// by the Prometheus HTTP API, by remote read and by promql().
func TestTimeSeriesProtocols(t *testing.T) {
	n := alone(t, t.TempDir(), nil)
	w := web{t, "http://" + n.http.l.Addr().String()}
	c := dial(t, n, "timezone=UTC")

	t.Run("lines", func(t *testing.T) {
		w.t, c.t = t, t
		w.want("POST", "/write?db=postgres&precision=s", "cpu,host=a,dc=eu usage=0.5,n=3i,ok=t,note=\"x y\" 1700000000\ncpu,host=b usage=1.5 1700000000\n", 204, "")
		c.want("SELECT time, dc, host, usage, n, ok, note FROM cpu ORDER BY host", "2023-11-14 22:13:20+00|eu|a|0.5|3|t|x y 2023-11-14 22:13:20+00||b|1.5|||")
		// Other fields of the same point join it, a new field is a new column.
		w.want("POST", "/api/v2/write?bucket=postgres&precision=ms", "cpu,host=b n=9i,extra=2.5 1700000000000\ncpu,host=b ok=f 1700000000000", 204, "")
		c.want("SELECT usage, n, ok, extra FROM cpu WHERE host = 'b'", "1.5|9|f|2.5")

		var z bytes.Buffer
		g := gzip.NewWriter(&z)
		_, _ = g.Write([]byte("zipped v=1i 1"))
		_ = g.Close()
		if st, text := w.send("POST", "/write", z.Bytes(), "Content-Encoding", "gzip"); st != 204 {
			t.Error(st, text)
		}
		c.want("SELECT time, v FROM zipped", "1970-01-01 00:00:00+00|1")

		w.want("POST", "/write", "cpu,host=c usage=", 400, `{"error":"line 1: unable to parse 'cpu,host=c usage=': missing field value"}`)
		w.want("POST", "/write?precision=s", "cpu,host=c usage=1 5\nbad\ncpu,host=c usage=1i 6\ncpu,rack=1 usage=1 7\n", 400,
			`{"error":"partial write: line 2: unable to parse 'bad': missing fields\nline 3: field type conflict: input field \"usage\" on measurement \"cpu\" is type integer, already exists as type float\nline 4: \"rack\" is not a tag of table \"cpu\"; the tags of a table are those of its first lines dropped=3"}`)
		c.want("SELECT count(*) FROM cpu WHERE host = 'c'", "1")
		w.want("POST", "/write?db=nowhere", "cpu v=1", 404, `{"error":"database not found: \"nowhere\""}`)
		w.want("POST", "/write?precision=d", "cpu v=1", 400, `{"error":"invalid precision \"d\" (use n, u, ms, s, m or h)"}`)
		c.do("CREATE TABLE ordinary (a int)")
		w.want("POST", "/api/v2/write", "ordinary v=1", 400, `{"code":"invalid","message":"\"ordinary\" is not a time-series table (SQLSTATE 42809)"}`)
	})

	t.Run("prometheus", func(t *testing.T) {
		w.t, c.t = t, t
		var req prompb.WriteRequest
		for _, job := range []string{"api", "db"} {
			ts := prompb.TimeSeries{Labels: []prompb.Label{{Name: "__name__", Value: "requests_total"}, {Name: "job", Value: job}, {Name: "empty", Value: ""}}}
			for i := range int64(61) {
				v := float64(i * 2)
				if job == "db" {
					v = float64(i * 10)
				}
				ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: 1700000000000 + i*10_000, Value: v})
			}
			req.Timeseries = append(req.Timeseries, ts)
		}
		msg, err := req.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if st, text := w.send("POST", "/api/v1/write", snappy.Encode(nil, msg)); st != 204 {
			t.Fatal(st, text)
		}
		c.want("SELECT __name__, labels::jsonb->>'job', count(*), max(value) FROM prometheus GROUP BY 1, 2 ORDER BY 2", "requests_total|api|61|120 requests_total|db|61|600")

		ok := func(data string) string { return `{"status":"success","data":` + data + `}` }
		w.want("GET", "/api/v1/query?query=requests_total&time=1700000600", "", 200,
			ok(`{"resultType":"vector","result":[{"metric":{"__name__":"requests_total","job":"api"},"value":[1700000600,"120"]},{"metric":{"__name__":"requests_total","job":"db"},"value":[1700000600,"600"]}]}`))
		w.want("GET", "/api/v1/query?query=sum(rate(requests_total[5m]))&time=1700000600", "", 200, ok(`{"resultType":"vector","result":[{"metric":{},"value":[1700000600,"1.2000000000000002"]}]}`))
		w.want("POST", "/api/v1/query_range", "query=requests_total{job=~\"d.*\"}&start=1700000000&end=1700000060&step=30s", 200,
			ok(`{"resultType":"matrix","result":[{"metric":{"__name__":"requests_total","job":"db"},"values":[[1700000000,"0"],[1700000030,"30"],[1700000060,"60"]]}]}`),
			"Content-Type", "application/x-www-form-urlencoded")
		w.want("GET", "/api/v1/query?query=cpu_usage{dc=\"eu\"}&time=1700000001", "", 200, ok(`{"resultType":"vector","result":[{"metric":{"__name__":"cpu_usage","dc":"eu","host":"a"},"value":[1700000001,"0.5"]}]}`))
		w.want("GET", "/api/v1/query?query=cpu_ok%2Bcpu_n&time=1700000001", "", 200,
			ok(`{"resultType":"vector","result":[{"metric":{"dc":"eu","host":"a"},"value":[1700000001,"4"]},{"metric":{"host":"b"},"value":[1700000001,"9"]}]}`))
		w.want("GET", "/api/v1/query?query=nothing", "", 200, ok(`{"resultType":"vector","result":[]}`))
		w.want("GET", "/api/v1/query?query=1%2B1&time=5", "", 200, ok(`{"resultType":"scalar","result":[5,"2"]}`))
		w.want("GET", "/api/v1/query?query=sum(", "", 400, `{"error":"invalid parameter \"query\": 1:5: parse error: unclosed left parenthesis","errorType":"bad_data","status":"error"}`)
		w.want("GET", "/api/v1/series?match[]=requests_total", "", 200, ok(`[{"__name__":"requests_total","job":"api"},{"__name__":"requests_total","job":"db"}]`))
		w.want("GET", "/api/v1/series?match[]=requests_total&end=1600000000", "", 200, ok(`[]`))
		w.want("GET", "/api/v1/labels", "", 200, ok(`["__name__","dc","host","job"]`))
		w.want("GET", "/api/v1/label/host/values?match[]=cpu_usage", "", 200, ok(`["a","b","c"]`))
		w.want("GET", "/api/v1/label/__name__/values", "", 200, ok(`["cpu_extra","cpu_n","cpu_ok","cpu_usage","requests_total","zipped_v"]`))
		w.want("GET", "/api/v1/query_range?query=1&start=0&end=1000000&step=1", "", 400,
			`{"error":"exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)","errorType":"bad_data","status":"error"}`)

		c.want("SELECT metric, time, value FROM promql('sum by (job) (rate(requests_total[1m]))', '2023-11-14 22:20:00+00', '2023-11-14 22:21:00+00', '1 min') ORDER BY 1, 2",
			`{"job": "api"}|2023-11-14 22:20:00+00|0.2 {"job": "api"}|2023-11-14 22:21:00+00|0.2 {"job": "db"}|2023-11-14 22:20:00+00|1 {"job": "db"}|2023-11-14 22:21:00+00|1`)
		c.want("SELECT p.value FROM promql('max(requests_total)', '2023-11-14 22:15:00+00') p", "100")

		rr := prompb.ReadRequest{Queries: []*prompb.Query{{StartTimestampMs: 1700000000000, EndTimestampMs: 1700000010000,
			Matchers: []*prompb.LabelMatcher{{Type: prompb.LabelMatcher_EQ, Name: "__name__", Value: "requests_total"}, {Type: prompb.LabelMatcher_NEQ, Name: "job", Value: "api"}}}}}
		if msg, err = rr.Marshal(); err != nil {
			t.Fatal(err)
		}
		st, body := w.send("POST", "/api/v1/read", snappy.Encode(nil, msg))
		raw, err := snappy.Decode(nil, []byte(body))
		var got prompb.ReadResponse
		if err != nil || st != 200 || got.Unmarshal(raw) != nil || len(got.Results) != 1 || len(got.Results[0].Timeseries) != 1 || len(got.Results[0].Timeseries[0].Samples) != 2 ||
			got.Results[0].Timeseries[0].Samples[1].Timestamp != 1700000010000 || got.Results[0].Timeseries[0].Samples[1].Value != 10 {
			t.Errorf("remote read: %d %v %v", st, err, &got)
		}
	})

	t.Run("privileges", func(t *testing.T) {
		w.t, c.t = t, t
		c.do("CREATE ROLE reader LOGIN PASSWORD 'secret'; GRANT SELECT ON cpu TO reader")
		w.want("GET", "/api/v1/label/__name__/values", "", 200, `{"status":"success","data":["cpu_extra","cpu_n","cpu_ok","cpu_usage"]}`, "Authorization", "Token reader:secret")
		w.want("POST", "/write", "cpu,host=a usage=1", 403, `{"error":"permission denied for table cpu (SQLSTATE 42501)"}`, "Authorization", "Token reader:secret")
		// What a web page or a proxy sends is not from this machine's user.
		w.want("POST", "/write", "cpu,host=a usage=1", 401, `{"error":"a user name and a password are required (SQLSTATE 28000)"}`, "Origin", "http://elsewhere.example")
		w.want("GET", "/api/v1/label/host/values", "", 401, `{"error":"password authentication failed for user \"reader\" (SQLSTATE 28P01)","errorType":"unauthorized","status":"error"}`,
			"X-Forwarded-For", "10.0.0.1", "Authorization", "Token reader:wrong")
		w.want("GET", "/api/v1/label/dc/values", "", 200, `{"status":"success","data":["eu"]}`, "X-Forwarded-For", "10.0.0.1", "Authorization", "Token reader:secret")
		w.want("GET", "/api/v1/label/dc/values", "", 401, `{"error":"password authentication failed for user \"nobody\" (SQLSTATE 28P01)","errorType":"unauthorized","status":"error"}`,
			"X-Forwarded-For", "10.0.0.1", "Authorization", "Token nobody:secret")
	})
}

// TestTooManySeries: lines and samples of series past a limit are named, those of known
// series in the same request are written.
func TestTooManySeries(t *testing.T) {
	n := alone(t, t.TempDir(), nil)
	w := web{t, "http://" + n.http.l.Addr().String()}
	c := dial(t, n, "timezone=UTC")
	var b strings.Builder
	for i := range 100_001 {
		fmt.Fprintf(&b, "lim,i=%d v=1 1\n", i)
	}
	if st, got := w.send("POST", "/write?db=postgres", []byte(b.String()+"lim,i=7 v=2 2000\n")); st != 400 || !strings.Contains(got, "line 100001: more than 100000 new series") || !strings.Contains(got, "dropped=1") {
		t.Errorf("%d %s", st, got)
	}
	c.want("SELECT count(*), sum(v) FROM lim", "100001|100002")
	var req prompb.WriteRequest
	for i := range 100_001 {
		req.Timeseries = append(req.Timeseries, prompb.TimeSeries{Labels: []prompb.Label{{Name: "__name__", Value: "x"}, {Name: "i", Value: fmt.Sprint(i)}}, Samples: []prompb.Sample{{Value: 1, Timestamp: 1000}}})
	}
	req.Timeseries = append(req.Timeseries, prompb.TimeSeries{Labels: req.Timeseries[7].Labels, Samples: []prompb.Sample{{Value: 1, Timestamp: 2000}}})
	msg, err := req.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if st, got := w.send("POST", "/api/v1/write", snappy.Encode(nil, msg)); st != 400 || !strings.Contains(got, "more than 100000 new series") || !strings.Contains(got, "dropped=1") {
		t.Errorf("%d %s", st, got)
	}
	c.want("SELECT count(*) FROM prometheus", "100001")
}

func TestTrustedRequest(t *testing.T) {
	for _, c := range []struct {
		remote, host, header, value string
		want                        bool
	}{
		{"127.0.0.1:5", "localhost:8433", "", "", true},
		{"[::1]:5", "[::1]:8433", "", "", true},
		{"127.0.0.1:5", "rebound.example", "", "", false},
		{"10.0.0.1:5", "10.0.0.2:8433", "", "", false},
		{"127.0.0.1:5", "127.0.0.1:8433", "Origin", "null", false},
		{"127.0.0.1:5", "127.0.0.1:8433", "Sec-Fetch-Site", "cross-site", false},
		{"127.0.0.1:5", "127.0.0.1:8433", "X-Forwarded-For", "127.0.0.1", false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Host = c.remote, c.host
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		if got := trustedRequest(r); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
