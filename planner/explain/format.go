package explain

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/sqltypes"
)

var eqProc = &sqltypes.Proc{Name: "="}

func textLine(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// Explain renders a plan. st is nil without ANALYZE. The text format's lines are
// the rows of EXPLAIN's result; the other formats are one value.
func Explain(plan *planner.Plan, cat *catalog.Catalog, opt Options, st *Stats) string {
	b := &builder{plan: plan, opt: opt, st: st, d: &deparser{}, done: map[*planner.SubPlan]bool{}, cat: cat}
	if cat != nil {
		b.d.typ = cat.Type
		b.d.types = func(oid sqltypes.OID) string {
			if t := cat.UserType(oid); t != nil {
				return QuoteIdent(t.Name)
			}
			return "???"
		}
	}
	root := b.root()
	switch strings.ToLower(opt.Format) {
	case "json":
		return b.json(root)
	case "yaml":
		return b.yaml(root)
	case "xml":
		return b.xml(root)
	}
	var w strings.Builder
	b.text(&w, root, 0, "")
	if len(opt.SettingsText) > 0 {
		w.WriteString("Settings: " + strings.Join(opt.SettingsText, ", ") + "\n")
	}
	if st != nil && opt.Summary {
		fmt.Fprintf(&w, "Planning Time: %.3f ms\n", ms(st.Planning))
		for _, t := range st.Triggers {
			name := "Trigger " + t.Name
			if t.Constraint != "" {
				name = "Trigger for constraint " + t.Constraint
			}
			if opt.Timing {
				fmt.Fprintf(&w, "%s: time=%.3f calls=%d\n", name, ms(t.Time), t.Calls)
			} else {
				fmt.Fprintf(&w, "%s: calls=%d\n", name, t.Calls)
			}
		}
		if opt.Analyze {
			fmt.Fprintf(&w, "Execution Time: %.3f ms\n", ms(st.Execution))
		}
	}
	return w.String()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// text writes a node as PostgreSQL indents it: two spaces a level, children behind "->  ".
func (b *builder) text(w *strings.Builder, n *node, indent int, name string) {
	pad := func() { w.WriteString(strings.Repeat("  ", indent)) }
	if name != "" {
		pad()
		w.WriteString(name + "\n")
		indent++
	}
	if indent > 0 {
		pad()
		w.WriteString("->  ")
		indent += 2
	}
	w.WriteString(n.title)
	if b.opt.Costs {
		fmt.Fprintf(w, "  (cost=%.2f..%.2f rows=%.0f width=%d)", n.est.Startup, n.est.Total, n.est.Rows, n.est.Width)
	}
	if b.st != nil && b.opt.Analyze {
		if s := n.stats; s == nil || s.Loops == 0 {
			w.WriteString(" (never executed)")
		} else if b.opt.Timing {
			fmt.Fprintf(w, " (actual time=%.3f..%.3f rows=%.0f loops=%d)", ms(s.Startup)/float64(s.Loops), ms(s.Total)/float64(s.Loops), perLoop(s), s.Loops)
		} else {
			fmt.Fprintf(w, " (actual rows=%.0f loops=%d)", perLoop(s), s.Loops)
		}
	}
	w.WriteString("\n")
	indent++
	for _, it := range n.items {
		if !it.inText {
			continue
		}
		pad()
		if it.label != "" {
			w.WriteString(it.label + ": ")
		}
		w.WriteString(valueText(it.value) + "\n")
	}
	for _, c := range n.children {
		if c.relation == "InitPlan" {
			b.text(w, c.n, indent, c.name)
		}
	}
	for _, c := range n.children {
		if c.relation != "InitPlan" && c.relation != "SubPlan" {
			b.text(w, c.n, indent, c.name)
		}
	}
	for _, c := range n.children {
		if c.relation == "SubPlan" {
			b.text(w, c.n, indent, c.name)
		}
	}
}

func perLoop(s *NodeStats) float64 { return math.Round(float64(s.Rows) / float64(s.Loops)) }

func valueText(v any) string {
	switch x := v.(type) {
	case []string:
		return strings.Join(x, ", ")
	case float64:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprint(v)
}

// field is one key of the structured formats; value may be []field, []any, or a scalar.
type field struct {
	key   string
	value any
}

// raw is a number already formatted.
type raw string

func (b *builder) fields(n *node, relation, name string) []field {
	out := []field{{"Node Type", n.kind}}
	rest := n.head
	for len(rest) > 0 && (rest[0].label == "Strategy" || rest[0].label == "Partial Mode" || rest[0].label == "Operation") {
		out = append(out, field{rest[0].label, rest[0].value})
		rest = rest[1:]
	}
	if relation != "" {
		out = append(out, field{"Parent Relationship", relation})
	}
	if name != "" {
		out = append(out, field{"Subplan Name", name})
	}
	out = append(out, field{"Parallel Aware", false}, field{"Async Capable", false})
	for _, it := range rest {
		out = append(out, field{it.label, it.value})
	}
	if b.opt.Costs {
		out = append(out, field{"Startup Cost", raw(fmt.Sprintf("%.2f", n.est.Startup))}, field{"Total Cost", raw(fmt.Sprintf("%.2f", n.est.Total))},
			field{"Plan Rows", raw(fmt.Sprintf("%.0f", n.est.Rows))}, field{"Plan Width", n.est.Width})
	}
	if b.st != nil && b.opt.Analyze {
		s := n.stats
		if s == nil {
			s = &NodeStats{}
		}
		loops := float64(max(s.Loops, 1))
		if b.opt.Timing {
			out = append(out, field{"Actual Startup Time", raw(fmt.Sprintf("%.3f", ms(s.Startup)/loops))}, field{"Actual Total Time", raw(fmt.Sprintf("%.3f", ms(s.Total)/loops))})
		}
		out = append(out, field{"Actual Rows", raw(fmt.Sprintf("%.0f", math.Round(float64(s.Rows)/loops)))}, field{"Actual Loops", s.Loops})
	}
	for _, it := range n.items {
		if it.label != "" {
			out = append(out, field{it.label, it.value})
		}
	}
	if len(n.children) > 0 {
		var plans []any
		for pass := 0; pass < 3; pass++ {
			for _, c := range n.children {
				if class := map[string]int{"InitPlan": 0, "SubPlan": 2}; (c.relation == "InitPlan" || c.relation == "SubPlan") && class[c.relation] != pass || c.relation != "InitPlan" && c.relation != "SubPlan" && pass != 1 {
					continue
				}
				plans = append(plans, b.fields(c.n, c.relation, c.name))
			}
		}
		out = append(out, field{"Plans", plans})
	}
	return out
}

func (b *builder) document(root *node) []field {
	out := []field{{"Plan", b.fields(root, "", "")}}
	if len(b.opt.SettingsText) > 0 {
		var s []field
		for _, t := range b.opt.SettingsText {
			k, v, _ := strings.Cut(t, " = ")
			s = append(s, field{k, strings.Trim(v, "'")})
		}
		out = append(out, field{"Settings", s})
	}
	if b.st != nil && b.opt.Summary {
		out = append(out, field{"Planning Time", raw(fmt.Sprintf("%.3f", ms(b.st.Planning)))})
		if b.opt.Analyze {
			trig := []any{}
			for _, t := range b.st.Triggers {
				f := []field{{"Trigger Name", t.Name}}
				if t.Constraint != "" {
					f = append(f, field{"Constraint Name", t.Constraint})
				}
				f = append(f, field{"Relation", t.Relation})
				if b.opt.Timing {
					f = append(f, field{"Time", raw(fmt.Sprintf("%.3f", ms(t.Time)))})
				}
				trig = append(trig, append(f, field{"Calls", t.Calls}))
			}
			out = append(out, field{"Triggers", trig}, field{"Execution Time", raw(fmt.Sprintf("%.3f", ms(b.st.Execution)))})
		}
	}
	return out
}

func jsonString(s string) string {
	var w strings.Builder
	e := json.NewEncoder(&w)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return `""`
	}
	return strings.TrimRight(w.String(), "\n")
}

func (b *builder) json(root *node) string {
	var w strings.Builder
	w.WriteString("[\n  ")
	jsonValue(&w, b.document(root), 1)
	w.WriteString("\n]")
	return w.String()
}

func jsonValue(w *strings.Builder, v any, indent int) {
	pad := strings.Repeat("  ", indent)
	switch x := v.(type) {
	case []field:
		w.WriteString("{\n")
		for i, f := range x {
			if i > 0 {
				w.WriteString(",\n")
			}
			w.WriteString(pad + "  " + jsonString(f.key) + ": ")
			jsonValue(w, f.value, indent+1)
		}
		w.WriteString("\n" + pad + "}")
	case []any:
		if len(x) == 0 {
			w.WriteString("[\n" + pad + "]")
			return
		}
		w.WriteString("[\n" + pad + "  ")
		for i, e := range x {
			if i > 0 {
				w.WriteString(",\n" + pad + "  ")
			}
			jsonValue(w, e, indent+1)
		}
		w.WriteString("\n" + pad + "]")
	case []string:
		w.WriteString("[")
		for i, s := range x {
			if i > 0 {
				w.WriteString(", ")
			}
			w.WriteString(jsonString(s))
		}
		w.WriteString("]")
	case string:
		w.WriteString(jsonString(x))
	case raw:
		w.WriteString(string(x))
	default:
		fmt.Fprint(w, x)
	}
}

func (b *builder) yaml(root *node) string {
	var w strings.Builder
	w.WriteString("- ")
	yamlFields(&w, b.document(root), 1, true)
	return strings.TrimRight(w.String(), "\n")
}

// yamlFields writes keys at an indentation; the first stands behind a dash already written.
func yamlFields(w *strings.Builder, fs []field, indent int, dash bool) {
	for i, f := range fs {
		if i > 0 || !dash {
			w.WriteString(strings.Repeat("  ", indent))
		}
		w.WriteString(f.key + ":")
		switch x := f.value.(type) {
		case []field:
			w.WriteString(" \n")
			yamlFields(w, x, indent+1, false)
		case []any:
			w.WriteString(" \n")
			for _, e := range x {
				w.WriteString(strings.Repeat("  ", indent+1) + "- ")
				if fs, ok := e.([]field); ok {
					yamlFields(w, fs, indent+2, true)
				}
			}
		case []string:
			w.WriteString(" \n")
			for _, s := range x {
				w.WriteString(strings.Repeat("  ", indent+1) + "- " + jsonString(s) + "\n")
			}
		case string:
			w.WriteString(" " + jsonString(x) + "\n")
		default:
			fmt.Fprintf(w, " %v\n", x)
		}
	}
}

func (b *builder) xml(root *node) string {
	var w strings.Builder
	w.WriteString("<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n  <Query>\n")
	xmlFields(&w, b.document(root), 2)
	w.WriteString("  </Query>\n</explain>")
	return w.String()
}

var xmlEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#x0d;")

func xmlFields(w *strings.Builder, fs []field, indent int) {
	pad := strings.Repeat("  ", indent)
	for _, f := range fs {
		tag := strings.ReplaceAll(f.key, " ", "-")
		switch x := f.value.(type) {
		case []field:
			w.WriteString(pad + "<" + tag + ">\n")
			xmlFields(w, x, indent+1)
			w.WriteString(pad + "</" + tag + ">\n")
		case []any:
			w.WriteString(pad + "<" + tag + ">\n")
			for _, e := range x {
				if fs, ok := e.([]field); ok {
					in := strings.TrimSuffix(tag, "s")
					w.WriteString(pad + "  <" + in + ">\n")
					xmlFields(w, fs, indent+2)
					w.WriteString(pad + "  </" + in + ">\n")
				}
			}
			w.WriteString(pad + "</" + tag + ">\n")
		case []string:
			w.WriteString(pad + "<" + tag + ">\n")
			for _, s := range x {
				w.WriteString(pad + "  <Item>" + xmlEscape.Replace(s) + "</Item>\n")
			}
			w.WriteString(pad + "</" + tag + ">\n")
		default:
			w.WriteString(pad + "<" + tag + ">" + xmlEscape.Replace(fmt.Sprint(x)) + "</" + tag + ">\n")
		}
	}
}
