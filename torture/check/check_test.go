package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ostraka/torture/history"
)

// op makes an operation of one step in [from, to]; to 0: no answer.
func op(session int, from, to int64, outcome history.Outcome, m history.Mop) *history.Op {
	if to == 0 {
		to = history.Forever
	}
	return &history.Op{Process: session, Session: session, Node: fmt.Sprint(session), Invoke: from, Return: to, Outcome: outcome, Mops: []history.Mop{m}}
}

func final(o *history.Op) *history.Op {
	o.Final = true
	return o
}

func number(h history.History) history.History {
	for i, o := range h {
		o.ID = i
	}
	return h
}

func want(t *testing.T, got []Anomaly, kinds string) {
	t.Helper()
	if k := strings.Trim(fmt.Sprint(Kinds(got)), "[]"); k != kinds {
		t.Errorf("found %q, want %q: %v", k, kinds, got)
	}
}

func w(v int64) history.Mop    { return history.Mop{F: "w", Key: 1, Arg: v} }
func r(v ...int64) history.Mop { return history.Mop{F: "r", Key: 1, Read: v} }
func add(v int64) history.Mop  { return history.Mop{F: "add", Arg: v} }
func inc(v int64) history.Mop  { return history.Mop{F: "inc", Key: 1, Read: []int64{v}} }
func cas(a, b, took int64) history.Mop {
	return history.Mop{F: "cas", Key: 1, Arg: a, Arg2: b, Read: []int64{took}}
}

func TestRegisters(t *testing.T) {
	ok, fail, unknown := history.OK, history.Fail, history.Unknown
	for name, c := range map[string]struct {
		h    history.History
		want string
	}{
		"serial":                       {history.History{op(1, 0, 1, ok, r()), op(1, 2, 3, ok, w(1)), op(2, 4, 5, ok, r(1)), op(2, 6, 7, ok, cas(1, 2, 1)), op(1, 8, 9, ok, r(2))}, ""},
		"concurrent":                   {history.History{op(1, 0, 10, ok, w(1)), op(2, 1, 2, ok, r(1)), op(3, 3, 4, ok, r(1))}, ""},
		"stale":                        {history.History{op(1, 0, 1, ok, w(1)), op(1, 2, 3, ok, w(2)), op(2, 4, 5, ok, r(1))}, "not-linearizable"},
		"new, then old":                {history.History{op(1, 0, 1, ok, w(1)), op(1, 2, 20, ok, w(2)), op(2, 4, 5, ok, r(2)), op(3, 6, 7, ok, r(1))}, "not-linearizable"},
		"unknown, seen much later":     {history.History{op(1, 0, 0, unknown, w(1)), op(2, 4, 5, ok, r()), op(3, 6, 7, ok, r(1))}, ""},
		"unknown, seen and gone":       {history.History{op(1, 0, 0, unknown, w(1)), op(3, 6, 7, ok, r(1)), op(2, 8, 9, ok, r())}, "not-linearizable"},
		"failed, seen":                 {history.History{op(1, 0, 1, fail, w(1)), op(3, 6, 7, ok, r(1))}, "not-linearizable"},
		"cas twice from one value":     {history.History{op(1, 0, 1, ok, w(1)), op(1, 2, 3, ok, cas(1, 2, 1)), op(2, 4, 5, ok, cas(1, 3, 1))}, "not-linearizable"},
		"cas refused without reason":   {history.History{op(1, 0, 1, ok, w(1)), op(1, 2, 3, ok, cas(1, 2, 0))}, "not-linearizable"},
		"write lost":                   {history.History{op(1, 0, 1, ok, w(1)), op(3, 6, 7, ok, r())}, "not-linearizable"},
		"two registers are two":        {history.History{op(1, 0, 1, ok, w(1)), op(3, 6, 7, ok, history.Mop{F: "r", Key: 2})}, ""},
		"cas of unknown outcome, seen": {history.History{op(1, 0, 1, ok, w(1)), op(1, 2, 0, unknown, cas(1, 2, 0)), op(3, 6, 7, ok, r(2))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, undecided := Registers(number(c.h), time.Second)
			want(t, got, c.want)
			if undecided != 0 {
				t.Error("undecided")
			}
		})
	}
}

func TestBank(t *testing.T) {
	read := func(v ...int64) *history.Op { return op(1, 0, 1, history.OK, history.Mop{F: "r", Read: v}) }
	want(t, Bank(history.History{read(5, 5), read(10, 0)}, 10), "")
	want(t, Bank(history.History{read(5, 6)}, 10), "wrong-total")
	want(t, Bank(history.History{read(11, -1)}, 10), "negative-balance")
	lost := read(1)
	lost.Outcome = history.Unknown
	want(t, Bank(history.History{lost}, 10), "")
}

func TestSet(t *testing.T) {
	ok, fail, unknown := history.OK, history.Fail, history.Unknown
	base := func(reads ...*history.Op) history.History {
		h := history.History{op(1, 0, 1, ok, add(1)), op(1, 2, 3, ok, add(2)), op(1, 4, 5, fail, add(3)), op(1, 6, 0, unknown, add(4)), op(1, 8, 0, unknown, add(5))}
		return number(append(h, reads...))
	}
	all := func(node int, v ...int64) *history.Op {
		return final(op(node, 100, 101, ok, history.Mop{F: "r", Read: v}))
	}
	for name, c := range map[string]struct {
		h     history.History
		fresh time.Duration
		want  string
	}{
		"right":           {base(all(1, 1, 2, 4), all(2, 4, 2, 1)), 0, ""},
		"lost":            {base(all(1, 1)), 0, "lost-write"},
		"twice":           {base(all(1, 1, 2, 2)), 0, "applied-twice"},
		"resurrected":     {base(all(1, 1, 2, 3)), 0, "failed-write-seen"},
		"never written":   {base(all(1, 1, 2, 9)), 0, "never-written"},
		"replicas differ": {base(all(1, 1, 2, 4), all(2, 1, 2)), 0, "replicas-differ"},
		"stale":           {base(op(2, 7, 8, ok, history.Mop{F: "r", Read: []int64{1}}), all(1, 1, 2)), 0, "stale-read"},
		"stale, allowed":  {base(op(2, 7, 8, ok, history.Mop{F: "r", Read: []int64{1}}), all(1, 1, 2)), -1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, counts := Set(c.h, c.fresh)
			want(t, got, c.want)
			if name == "right" && counts != (SetCounts{Acknowledged: 2, Unknown: 2, Recovered: 1}) {
				t.Errorf("counts %+v", counts)
			}
		})
	}
}

func TestMonotonic(t *testing.T) {
	ok, unknown := history.OK, history.Unknown
	for name, c := range map[string]struct {
		h    history.History
		want string
	}{
		"right":             {history.History{op(1, 0, 1, ok, inc(1)), op(1, 2, 3, ok, r(1)), op(2, 4, 5, ok, r(0)), op(2, 6, 7, ok, r(1)), final(op(1, 8, 9, ok, r(1)))}, ""},
		"back":              {history.History{op(1, 0, 1, ok, r(2)), op(1, 2, 3, ok, r(1))}, "read-went-back"},
		"other session":     {history.History{op(1, 0, 1, ok, r(2)), op(2, 2, 3, ok, r(1))}, ""},
		"own write unseen":  {history.History{op(1, 0, 1, ok, inc(2)), op(1, 2, 3, ok, r(1))}, "own-write-unseen"},
		"lost update":       {history.History{op(1, 0, 1, ok, inc(2)), op(2, 2, 3, ok, inc(2))}, "applied-twice"},
		"lost at the end":   {history.History{op(1, 0, 1, ok, inc(1)), final(op(2, 8, 9, ok, r(0)))}, "lost-write"},
		"one too many":      {history.History{op(1, 0, 1, ok, inc(1)), final(op(2, 8, 9, ok, r(2)))}, "applied-twice"},
		"one unknown, seen": {history.History{op(1, 0, 1, ok, inc(1)), op(1, 2, 0, unknown, inc(0)), final(op(2, 8, 9, ok, r(2)))}, ""},
	} {
		t.Run(name, func(t *testing.T) { want(t, Monotonic(number(c.h)), c.want) })
	}
}

func TestLongForks(t *testing.T) {
	want(t, LongForks(number(history.History{op(1, 0, 1, history.OK, r()), op(1, 0, 1, history.OK, r(1)), op(2, 0, 1, history.OK, r(2, 1))})), "")
	want(t, LongForks(number(history.History{op(1, 0, 1, history.OK, r(1)), op(2, 0, 1, history.OK, r(2)), op(2, 0, 1, history.OK, r(1, 2))})), "long-fork")
}

func TestSequence(t *testing.T) {
	next := func(from, to, v int64) *history.Op {
		return op(1, from, to, history.OK, history.Mop{F: "next", Read: []int64{v}})
	}
	want(t, Sequence(history.History{next(0, 1, 1), next(2, 9, 5), next(3, 4, 3), next(5, 6, 4), next(10, 11, 7)}), "")
	want(t, Sequence(history.History{next(0, 1, 1), next(0, 1, 1)}), "applied-twice")
	want(t, Sequence(history.History{next(0, 1, 2), next(2, 3, 1)}), "read-went-back")
}
