package promset

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Tolerance is by how much two numbers may differ, relatively: sums in another order
// do.
const Tolerance = 1e-11

// Answer is the status and the body of an answer of the HTTP API.
type Answer struct {
	Code int
	Body json.RawMessage
}

// Same compares two answers of the HTTP API and says where they differ; "" when they
// are equal. An error's text is not compared, nor is the order in vectors and
// matrices, unless ordered.
func Same(got, want Answer, ordered bool) string {
	var g, w map[string]any
	if err := json.Unmarshal(got.Body, &g); err != nil {
		return fmt.Sprintf("no JSON: %v: %.200s", err, got.Body)
	}
	if err := json.Unmarshal(want.Body, &w); err != nil {
		return fmt.Sprintf("no JSON: %v: %.200s", err, want.Body)
	}
	if got.Code != want.Code {
		return fmt.Sprintf("status %d, not %d: %.300s", got.Code, want.Code, got.Body)
	}
	for _, m := range []map[string]any{g, w} {
		delete(m, "error")
		delete(m, "infos")
		delete(m, "warnings")
		if d, ok := m["data"].(map[string]any); ok && !ordered {
			if list, ok := d["result"].([]any); ok && d["resultType"] != "scalar" && d["resultType"] != "string" {
				slices.SortFunc(list, func(a, b any) int { return strings.Compare(labelText(a), labelText(b)) })
			}
		}
	}
	return differ("", g, w)
}

func labelText(v any) string {
	m, _ := v.(map[string]any)
	b, _ := json.Marshal(m["metric"])
	return string(b)
}

func differ(at string, g, w any) string {
	switch w := w.(type) {
	case map[string]any:
		g, ok := g.(map[string]any)
		if !ok {
			break
		}
		for k, v := range w {
			if why := differ(at+"."+k, g[k], v); why != "" {
				return why
			}
		}
		for k, v := range g {
			if _, there := w[k]; !there {
				return fmt.Sprintf("%s.%s: %v is too much", at, k, v)
			}
		}
		return ""
	case []any:
		g, ok := g.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s: %d elements, not %d: %.300v, not %.300v", at, len(g), len(w), g, w)
		}
		for i := range w {
			if why := differ(at+"["+strconv.Itoa(i)+"]", g[i], w[i]); why != "" {
				return why
			}
		}
		return ""
	case string:
		if g, ok := g.(string); ok && sameText(g, w) {
			return ""
		}
	}
	if reflect.DeepEqual(g, w) {
		return ""
	}
	return fmt.Sprintf("%s: %v, not %v", at, g, w)
}

// sameText compares values, which the API gives as strings.
func sameText(g, w string) bool {
	if g == w {
		return true
	}
	a, err := strconv.ParseFloat(g, 64)
	b, err2 := strconv.ParseFloat(w, 64)
	return err == nil && err2 == nil && math.Abs(a-b) <= Tolerance*math.Max(math.Abs(a), math.Abs(b))
}
