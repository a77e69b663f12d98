package promset

import (
	"net/url"
	"strconv"
	"strings"
)

// Query is a request to the HTTP API: for one time when Step is 0. Times are seconds
// since 1970.
type Query struct {
	Text       string
	Start, End int64
	Step       int64
}

// Ordered reports that the order of the result is part of the answer.
func (q Query) Ordered() bool { return strings.HasPrefix(q.Text, "sort") && q.Step == 0 }

// Path is the request's path and parameters.
func (q Query) Path() string {
	v := url.Values{"query": {q.Text}}
	if q.Step == 0 {
		v.Set("time", strconv.FormatInt(q.End, 10))
		return "/api/v1/query?" + v.Encode()
	}
	v.Set("start", strconv.FormatInt(q.Start, 10))
	v.Set("end", strconv.FormatInt(q.End, 10))
	v.Set("step", strconv.FormatInt(q.Step, 10))
	return "/api/v1/query_range?" + v.Encode()
}

// Queries lists every text for one time and for a range. The times are no multiples
// of the subqueries' steps, and no range reaches back to a counter's first sample,
// where Prometheus extrapolates otherwise since 2.53.
func Queries() (out []Query) {
	const from = Start/1000 + 7
	for _, t := range texts {
		out = append(out, Query{Text: t, End: from + 4000})
		if !instantOnly[t] {
			out = append(out, Query{Text: t, Start: from + 4000, End: from + 6800, Step: 400})
		}
	}
	return out
}

// Paths are requests about series and labels.
var Paths = []string{
	"/api/v1/series?match[]=up&match[]=build_info{version=%221.1%22}&start=1700000000&end=1700007200",
	"/api/v1/labels?start=1700000000&end=1700007200",
	"/api/v1/labels?match[]=gap&start=1700000000&end=1700007200",
	"/api/v1/label/job/values?start=1700000000&end=1700007200",
	"/api/v1/label/__name__/values?start=1700000000&end=1700007200",
	"/api/v1/label/instance/values?match[]=up{job=%22web%22}&start=1700000000&end=1700007200",
	"/api/v1/label/absent/values?start=1700000000&end=1700007200",
	"/api/v1/query?query=up[2m&time=1700004000",
	"/api/v1/query?query=rate(up)&time=1700004000",
	"/api/v1/query?query=sum(up)%20by%20(&time=1700004000",
	"/api/v1/query?query=up%20*%20on(job)%20build_info&time=1700004000",
	"/api/v1/query?query=up&time=never",
	"/api/v1/query_range?query=up&start=1700004000&end=1700003000&step=15",
	"/api/v1/query_range?query=up&start=1700000000&end=1700003000&step=0",
	"/api/v1/query_range?query=up&start=1600000000&end=1700003000&step=15",
	"/api/v1/query_range?query=up[5m]&start=1700000000&end=1700003000&step=15",
	"/api/v1/series",
}

var instantOnly = map[string]bool{`up{job="api"}[1m]`: true, `requests_total{code="500"}[2m:30s]`: true, `sort_desc(sum by (instance) (requests_total))`: true,
	`sort(memory_bytes)`: true, `"text"`: true}

var texts = []string{
	`up`,
	`{__name__=~"up|gap"}`,
	`requests_total{code!~"2..",job="api"}`,
	`up{job="api"}[1m]`,
	`requests_total{code="500"}[2m:30s]`,
	`rate(requests_total[5m])`,
	`irate(requests_total{job="web"}[2m])`,
	`increase(requests_total{code="200"}[10m])`,
	`delta(memory_bytes[7m])`,
	`idelta(memory_bytes[3m])`,
	`deriv(memory_bytes[10m])`,
	`predict_linear(memory_bytes[10m], 3600)`,
	`resets(requests_total[1h])`,
	`changes(up[30m])`,
	`sum by (job) (rate(requests_total[5m]))`,
	`sum without (instance, code) (rate(requests_total[5m]))`,
	`avg(memory_bytes) by (job)`,
	`min by (code) (requests_total)`,
	`max(temperature)`,
	`count by (job) (up == 1)`,
	`stddev by (job) (memory_bytes)`,
	`stdvar(temperature)`,
	`group by (job) (up)`,
	`topk(2, sum by (instance) (rate(requests_total[5m])))`,
	`bottomk(3, memory_bytes)`,
	`quantile(0.9, memory_bytes)`,
	`quantile by (job) (0.25, rate(requests_total[5m]))`,
	`count_values("value", up)`,
	`histogram_quantile(0.9, rate(latency_seconds_bucket[5m]))`,
	`histogram_quantile(0.5, sum by (le) (rate(latency_seconds_bucket[10m])))`,
	`rate(latency_seconds_sum[5m]) / rate(latency_seconds_count[5m])`,
	`requests_total offset 10m`,
	`rate(requests_total[5m] offset 40m)`,
	`up @ 1700003000`,
	`sum(rate(requests_total[5m] @ end()))`,
	`memory_bytes - memory_bytes @ start()`,
	`max_over_time(rate(requests_total{code="200"}[1m])[30m:1m])`,
	`avg_over_time(temperature[20m])`,
	`min_over_time(temperature[20m:])`,
	`sum_over_time(up[15m])`,
	`count_over_time(gap[30m])`,
	`quantile_over_time(0.75, temperature[10m])`,
	`stddev_over_time(temperature[10m])`,
	`stdvar_over_time(memory_bytes[10m])`,
	`last_over_time(gap[20m])`,
	`present_over_time(gap[20m])`,
	`absent_over_time(gap{kind="silent"}[10m])`,
	`absent(nothing{a="b"})`,
	`absent(up)`,
	`label_replace(up, "host", "$1", "instance", "(.*):.*")`,
	`label_join(up, "all", "-", "job", "instance")`,
	`up * on (job, instance) group_left (version) build_info`,
	`sum by (version) (rate(requests_total[5m]) * on (job, instance) group_left (version) build_info)`,
	`up and ignoring (version) build_info{version="1.0"}`,
	`up or temperature`,
	`up unless on (instance) build_info{version="1.1"}`,
	`memory_bytes / ignoring (code) group_right requests_total{code="200"}`,
	`memory_bytes > 1e9`,
	`up == bool 1`,
	`temperature % 2`,
	`2 ^ temperature`,
	`-temperature`,
	`odd`,
	`odd * 2 + 1`,
	`sum(odd)`,
	`max(odd)`,
	`clamp(temperature, -3, 19)`,
	`clamp_min(temperature, 0)`,
	`clamp_max(temperature, 0)`,
	`round(temperature, 0.5)`,
	`floor(temperature)`,
	`ceil(temperature)`,
	`abs(temperature)`,
	`sgn(temperature)`,
	`sqrt(memory_bytes)`,
	`exp(temperature)`,
	`ln(memory_bytes)`,
	`log2(memory_bytes)`,
	`log10(memory_bytes)`,
	`timestamp(up)`,
	`time()`,
	`hour(timestamp(temperature))`,
	`day_of_week()`,
	`minute(vector(1700000000))`,
	`days_in_month()`,
	`vector(1)`,
	`scalar(sum(up))`,
	`sort(memory_bytes)`,
	`sort_desc(sum by (instance) (requests_total))`,
	`gap`,
	`rate(gap[10m])`,
	`unicode`,
	`sum by (name) (unicode{quote="a\"b\\c"})`,
	`rad(temperature) + pi()`,
	`sin(temperature)`,
	`"text"`,
	`1 + 2 * 3`,
	`sum(up) / count(up)`,
	`(sum(up) > bool 2) * 10`,
	`count(count by (instance) (requests_total))`,
	`sum(increase(requests_total{code="500"}[1h])) / sum(increase(requests_total[1h]))`,
}
