package protocol

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"ostraka/tsdb/prom"
)

// engineVersion is the Prometheus whose PromQL this is; clients derive from it
// what they may ask.
const engineVersion = "3.16.0"

type response struct {
	Status   string   `json:"status"`
	Data     any      `json:"data"`
	Warnings []string `json:"warnings,omitempty"`
	Infos    []string `json:"infos,omitempty"`
}

func succeed(w http.ResponseWriter, data any) error {
	answer(w, http.StatusOK, response{Status: "success", Data: data, Infos: incomplete(w, nil)})
	return nil
}

// incomplete adds that an answer is of one node's rows.
func incomplete(w http.ResponseWriter, infos []string) []string {
	if text := w.Header().Get(onlyHeader); text != "" {
		infos = append(infos, "Ostraka: "+text)
	}
	return infos
}

// form reads the parameters of the URL and of a form in the body.
func form(r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return bodyError(err)
	}
	return nil
}

// timed is ctx with the parameter timeout.
func timed(ctx context.Context, r *http.Request) (context.Context, context.CancelFunc, error) {
	v := r.Form.Get("timeout")
	if v == "" {
		return ctx, func() {}, nil
	}
	d, err := duration("timeout", v)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	return ctx, cancel, nil
}

func (s *Server) query(ctx context.Context, c caller, w http.ResponseWriter, r *http.Request) error {
	if err := form(r); err != nil {
		return err
	}
	ctx, cancel, err := timed(ctx, r)
	if err != nil {
		return err
	}
	defer cancel()
	at, err := instant(r, "time", s.cfg.Now())
	if err != nil {
		return err
	}
	lookback, err := lookback(r)
	if err != nil {
		return err
	}
	res, release, err := s.cfg.Source.Instant(ctx, c.reader(s), r.Form.Get("query"), at, lookback)
	if err != nil {
		return parameter("query", err)
	}
	defer release()
	return result(w, res, r.Form.Get("query"))
}

func (s *Server) queryRange(ctx context.Context, c caller, w http.ResponseWriter, r *http.Request) error {
	if err := form(r); err != nil {
		return err
	}
	ctx, cancel, err := timed(ctx, r)
	if err != nil {
		return err
	}
	defer cancel()
	start, err := instant(r, "start", time.Time{})
	if err != nil {
		return err
	}
	end, err := instant(r, "end", time.Time{})
	if err != nil {
		return err
	}
	if end.Before(start) {
		return badRequest(`invalid parameter "end": end timestamp must not be before start time`)
	}
	step, err := duration("step", r.Form.Get("step"))
	if err != nil {
		return err
	}
	if step < time.Millisecond {
		return badRequest(`invalid parameter "step": zero or negative query resolution step widths are not accepted. Try a positive integer`)
	}
	lookback, err := lookback(r)
	if err != nil {
		return err
	}
	res, release, err := s.cfg.Source.Range(ctx, c.reader(s), r.Form.Get("query"), start, end, step, lookback)
	if err == prom.ErrSteps {
		return badRequest(prom.ErrSteps.Message)
	}
	if err != nil {
		return parameter("query", err)
	}
	defer release()
	return result(w, res, r.Form.Get("query"))
}

// parameter names the parameter that an error in a query's text is about.
func parameter(name string, err error) error {
	if q, ok := err.(*prom.QueryError); ok {
		return badRequest(fmt.Sprintf("invalid parameter %q: %v", name, q.Err))
	}
	return err
}

func result(w http.ResponseWriter, res *promql.Result, query string) error {
	if res.Err != nil {
		return res.Err
	}
	value := res.Value
	switch v := value.(type) { // null is no list
	case promql.Matrix:
		if v == nil {
			value = promql.Matrix{}
		}
	case promql.Vector:
		if v == nil {
			value = promql.Vector{}
		}
	}
	warnings, infos := res.Warnings.AsStrings(query, 10, 10)
	answer(w, http.StatusOK, response{Status: "success", Warnings: warnings, Infos: incomplete(w, infos), Data: struct {
		Type   parser.ValueType `json:"resultType"`
		Result parser.Value     `json:"result"`
	}{value.Type(), value}})
	return nil
}

func (s *Server) selectors(r *http.Request) ([][]*labels.Matcher, error) {
	list := r.Form["match[]"]
	if len(list) == 0 {
		return nil, nil
	}
	ms, err := s.cfg.Source.Selectors(list)
	if err != nil {
		return nil, badRequest(fmt.Sprintf("invalid parameter %q: %v", "match[]", err))
	}
	return ms, nil
}

func (s *Server) series(ctx context.Context, c caller, w http.ResponseWriter, r *http.Request) error {
	if err := form(r); err != nil {
		return err
	}
	ms, err := s.selectors(r)
	if err != nil {
		return err
	}
	if ms == nil {
		return badRequest("no match[] parameter provided")
	}
	mint, maxt := int64(math.MinInt64), int64(math.MaxInt64)
	for name, to := range map[string]*int64{"start": &mint, "end": &maxt} {
		if r.Form.Get(name) == "" {
			continue
		}
		t, err := instant(r, name, time.Time{})
		if err != nil {
			return err
		}
		*to = t.UnixMilli()
	}
	list, err := s.cfg.Source.Series(ctx, c.reader(s), mint, maxt, ms)
	if err != nil {
		return err
	}
	return limited(w, r, list)
}

func (s *Server) labels(ctx context.Context, c caller, w http.ResponseWriter, r *http.Request) error {
	return s.names(ctx, c, w, r, "")
}

func (s *Server) labelValues(ctx context.Context, c caller, w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if name == "" || !model.UTF8Validation.IsValidLabelName(name) {
		return badRequest(fmt.Sprintf("invalid label name: %q", name))
	}
	return s.names(ctx, c, w, r, name)
}

func (s *Server) names(ctx context.Context, c caller, w http.ResponseWriter, r *http.Request, name string) error {
	if err := form(r); err != nil {
		return err
	}
	ms, err := s.selectors(r)
	if err != nil {
		return err
	}
	list, err := s.cfg.Source.Names(ctx, c.reader(s), name, ms)
	if err != nil {
		return err
	}
	return limited(w, r, list)
}

// limited answers with at most as many elements as the parameter limit says.
func limited[T any](w http.ResponseWriter, r *http.Request, list []T) error {
	if v := r.Form.Get("limit"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return badRequest(fmt.Sprintf("invalid parameter %q: limit must be non-negative", "limit"))
		}
		if n > 0 && len(list) > n {
			answer(w, http.StatusOK, response{Status: "success", Data: list[:n], Warnings: []string{"results truncated due to limit"}})
			return nil
		}
	}
	return succeed(w, list)
}

func (s *Server) buildInfo(_ context.Context, _ caller, w http.ResponseWriter, _ *http.Request) error {
	return succeed(w, map[string]string{"version": engineVersion, "revision": "ostraka " + s.cfg.Version, "branch": "", "buildUser": "", "buildDate": "",
		"goVersion": runtime.Version()})
}

// metadata is empty: remote write's metadata is not kept.
func (s *Server) metadata(_ context.Context, _ caller, w http.ResponseWriter, _ *http.Request) error {
	return succeed(w, map[string]any{})
}

// instant reads a time: seconds since 1970 or RFC 3339.
func instant(r *http.Request, name string, missing time.Time) (time.Time, error) {
	v := r.Form.Get(name)
	if v == "" && !missing.IsZero() {
		return missing, nil
	}
	if f, err := strconv.ParseFloat(v, 64); err == nil && math.Abs(f) < 1e11 {
		sec, frac := math.Modf(f)
		return time.Unix(int64(sec), int64(math.Round(frac*1000))*int64(time.Millisecond)).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, v); err == nil {
		return t, nil
	}
	return time.Time{}, badRequest(fmt.Sprintf("invalid parameter %q: cannot parse %q to a valid timestamp", name, v))
}

// duration reads seconds or a duration such as 5m.
func duration(name, v string) (time.Duration, error) {
	if f, err := strconv.ParseFloat(v, 64); err == nil {
		if d := f * float64(time.Second); math.Abs(d) < math.MaxInt64 {
			return time.Duration(d), nil
		}
	} else if d, err := model.ParseDuration(strings.TrimSpace(v)); err == nil {
		return time.Duration(d), nil
	}
	return 0, badRequest(fmt.Sprintf("invalid parameter %q: cannot parse %q to a valid duration", name, v))
}

func lookback(r *http.Request) (time.Duration, error) {
	v := r.Form.Get("lookback_delta")
	if v == "" {
		return 0, nil
	}
	return duration("lookback_delta", v)
}
