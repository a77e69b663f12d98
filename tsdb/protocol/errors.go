package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/prometheus/prometheus/promql"

	"ostraka/sqltypes/pgerror"
	"ostraka/tsdb/prom"
)

// httpError is an error with its status.
type httpError struct {
	status int
	text   string
}

func (e *httpError) Error() string { return e.text }

func badRequest(text string) error { return &httpError{http.StatusBadRequest, text} }

// statusOf is the HTTP status of an error.
func statusOf(err error) int {
	var (
		h        *httpError
		p        *pgerror.Error
		q        *prom.QueryError
		timeout  promql.ErrQueryTimeout
		canceled promql.ErrQueryCanceled
		storage  promql.ErrStorage
	)
	switch {
	case errors.As(err, &h):
		return h.status
	case errors.As(err, &q):
		return http.StatusBadRequest
	case errors.As(err, &timeout), errors.As(err, &canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	case errors.As(err, &p):
		switch code := string(p.Code); {
		case strings.HasPrefix(code, "28"):
			return http.StatusUnauthorized
		case code == string(pgerror.InsufficientPrivilege):
			return http.StatusForbidden
		case strings.HasPrefix(code, "53"), strings.HasPrefix(code, "57"), strings.HasPrefix(code, "08"):
			return http.StatusServiceUnavailable
		case strings.HasPrefix(code, "58"), strings.HasPrefix(code, "XX"):
			return http.StatusInternalServerError
		}
		return http.StatusBadRequest
	case errors.As(err, &storage):
		return http.StatusInternalServerError
	}
	return http.StatusUnprocessableEntity
}

// style writes an error as a protocol's clients expect it.
type style func(w http.ResponseWriter, err error)

func influxV1(w http.ResponseWriter, err error) {
	w.Header().Set("X-Influxdb-Error", oneLine(err))
	answer(w, statusOf(err), map[string]string{"error": err.Error()})
}

func influxV2(w http.ResponseWriter, err error) {
	code := "internal error"
	switch st := statusOf(err); st {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		code = "invalid"
	case http.StatusUnauthorized:
		code = "unauthorized"
	case http.StatusForbidden:
		code = "forbidden"
	case http.StatusNotFound:
		code = "not found"
	case http.StatusRequestEntityTooLarge:
		code = "request too large"
	case http.StatusServiceUnavailable:
		code = "unavailable"
	}
	answer(w, statusOf(err), map[string]string{"code": code, "message": err.Error()})
}

func plain(w http.ResponseWriter, err error) { http.Error(w, err.Error(), statusOf(err)) }

func api(w http.ResponseWriter, err error) {
	kind := "execution"
	switch statusOf(err) {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		kind = "bad_data"
	case http.StatusNotFound:
		kind = "not_found"
	case http.StatusServiceUnavailable:
		kind = "timeout"
		if errors.As(err, new(promql.ErrQueryCanceled)) {
			kind = "canceled"
		}
	case http.StatusInternalServerError:
		kind = "internal"
	case http.StatusUnauthorized, http.StatusForbidden:
		kind = "unauthorized"
	}
	answer(w, statusOf(err), map[string]string{"status": "error", "errorType": kind, "error": err.Error()})
}

func oneLine(err error) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, err.Error())
}

func answer(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // the client is gone when it fails
}
