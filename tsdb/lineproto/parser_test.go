package lineproto

import (
	"fmt"
	"strings"
	"testing"
)

// show writes a point in one form, whatever its spelling was.
func show(p *Point) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %q", p.Line, p.Measurement)
	for _, t := range p.Tags {
		fmt.Fprintf(&b, " %q=%q", t.Key, t.Value)
	}
	b.WriteString(" |")
	for _, f := range p.Fields {
		fmt.Fprintf(&b, " %q:%s=", f.Key, f.Kind)
		switch f.Kind {
		case Float:
			fmt.Fprint(&b, f.F)
		case String:
			fmt.Fprintf(&b, "%q", f.S)
		default:
			fmt.Fprint(&b, f.I)
		}
	}
	if p.Timed {
		fmt.Fprintf(&b, " @%d", p.Time)
	}
	return b.String()
}

func all(in string, unit int64) []string {
	r := NewParser([]byte(in), unit)
	var out []string
	for {
		var p Point
		more, err := r.Next(&p)
		switch {
		case !more:
			return out
		case err != nil:
			out = append(out, err.Error())
		default:
			out = append(out, show(&p))
		}
	}
}

func TestParser(t *testing.T) {
	for _, c := range []struct {
		in, want string
		unit     int64
	}{
		{in: "cpu value=1", want: `1 "cpu" | "value":float=1`},
		{in: "cpu,host=a,dc=b usage=0.5,n=3i,ok=t,note=\"x y\" 42\n", unit: Second, want: `1 "cpu" "host"="a" "dc"="b" | "usage":float=0.5 "n":integer=3 "ok":boolean=1 "note":string="x y" @42000000000`},
		{in: "m v=-1.5e3 -7", want: `1 "m" | "v":float=-1500 @-7`},
		{in: "m v=1u", want: `1 "m" | "v":unsigned=1`},
		{in: "m v=F,w=FALSE,x=True", want: `1 "m" | "v":boolean=0 "w":boolean=0 "x":boolean=1`},
		{in: `my\ m\,x,k\=1=a\ b\,c f\ 1=1`, want: `1 "my m,x" "k=1"="a b,c" | "f 1":float=1`},
		{in: `m,t=a\b v="c:\\d \"q\" \n"`, want: `1 "m" "t"="a\\b" | "v":string="c:\\d \"q\" \\n"`},
		{in: "m v=\"a\nb\" 5\nn v=1", want: "1 \"m\" | \"v\":string=\"a\\nb\" @5\n3 \"n\" | \"v\":float=1"},
		{in: "# note\r\n\n  m v=1 2\r\nm v=2\r\n", want: "3 \"m\" | \"v\":float=1 @2\n4 \"m\" | \"v\":float=2"},
		{in: "m,x=ü v=9223372036854775807i 9223372036854775807", want: `1 "m" "x"="ü" | "v":integer=9223372036854775807 @9223372036854775807`},
		{in: "m  v=1  2 ", want: `1 "m" | "v":float=1 @2`},

		{in: "m", want: "line 1: unable to parse 'm': missing fields"},
		{in: ",a=b v=1", want: "line 1: unable to parse ',a=b v=1': missing measurement"},
		{in: "m, v=1", want: "line 1: unable to parse 'm, v=1': missing tag key"},
		{in: "m,a v=1", want: "line 1: unable to parse 'm,a v=1': missing tag value"},
		{in: "m,a= v=1", want: "line 1: unable to parse 'm,a= v=1': missing tag value"},
		{in: "m,a=b=c v=1", want: "line 1: unable to parse 'm,a=b=c v=1': invalid tag format"},
		{in: "m,a=1,a=2 v=1", want: "line 1: unable to parse 'm,a=1,a=2 v=1': duplicate tags"},
		{in: "m =1", want: "line 1: unable to parse 'm =1': missing field key"},
		{in: "m v=", want: "line 1: unable to parse 'm v=': missing field value"},
		{in: "m v", want: "line 1: unable to parse 'm v': missing field value"},
		{in: "m v=1,", want: "line 1: unable to parse 'm v=1,': missing field key"},
		{in: "m v=abc", want: "line 1: unable to parse 'm v=abc': invalid number"},
		{in: "m v=NaN", want: "line 1: unable to parse 'm v=NaN': invalid number"},
		{in: "m v=1e999", want: "line 1: unable to parse 'm v=1e999': invalid number"},
		{in: "m v=0x10", want: "line 1: unable to parse 'm v=0x10': invalid number"},
		{in: "m v=1.5i", want: "line 1: unable to parse 'm v=1.5i': invalid number"},
		{in: "m v=-1u", want: "line 1: unable to parse 'm v=-1u': invalid number"},
		{in: "m v=9223372036854775808i", want: "line 1: unable to parse 'm v=9223372036854775808i': invalid number"},
		{in: "m v=tru", want: "line 1: unable to parse 'm v=tru': invalid boolean"},
		{in: "m v=\"a\nn v=1", want: "line 1: unable to parse 'm v=\"a': unbalanced quotes"},
		{in: "m v=\"a\"b 1", want: "line 1: unable to parse 'm v=\"a\"b 1': invalid field format"},
		{in: "m v=1 x", want: "line 1: unable to parse 'm v=1 x': bad timestamp"},
		{in: "m v=1 1 2", want: "line 1: unable to parse 'm v=1 1 2': bad timestamp"},
		{in: "m v=1 9223372036854775807", unit: Hour, want: "line 1: unable to parse 'm v=1 9223372036854775807': time outside range"},
		{in: "bad\nm v=1\nworse v=\nm v=2", want: "line 1: unable to parse 'bad': missing fields\n2 \"m\" | \"v\":float=1\nline 3: unable to parse 'worse v=': missing field value\n4 \"m\" | \"v\":float=2"},
	} {
		if c.unit == 0 {
			c.unit = Nanosecond
		}
		if got := strings.Join(all(c.in, c.unit), "\n"); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestPrecision(t *testing.T) {
	for name, want := range map[string]int64{"": 1, "ns": 1, "u": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9} {
		if got, ok := Precision(name); !ok || got != want {
			t.Errorf("%q: %d, %v", name, got, ok)
		}
	}
	if _, ok := Precision("d"); ok {
		t.Error("precision d")
	}
}

// FuzzParser: no input makes it fail otherwise than by naming a line, and every
// line that it takes is one point with a measurement and a field.
func FuzzParser(f *testing.F) {
	for _, s := range []string{"cpu,host=a usage=0.5,n=3i 42\n", "m v=\"a\\\"b\nc\"", `a\ b,c\=d=e f=t`, "m,", "#\r\n", "m v=1 \r", "\\", "m v=\"", "m v=1\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r := NewParser([]byte(in), Second)
		var p Point
		last := 0
		for i := 0; ; i++ {
			more, err := r.Next(&p)
			if !more {
				return
			}
			if i > len(in) {
				t.Fatal("does not come to an end")
			}
			line := p.Line
			if err != nil {
				line = err.Line
			} else if len(p.Measurement) == 0 || len(p.Fields) == 0 || len(p.Series) == 0 {
				t.Fatalf("took %q as %s", in, show(&p))
			}
			if line <= last {
				t.Fatalf("line %d after %d", line, last)
			}
			last = line
		}
	})
}

func BenchmarkParser(b *testing.B) {
	var in []byte
	for i := range 1000 {
		in = fmt.Appendf(in, "cpu,host=host-%d,dc=eu usage=%d.25,n=%di 17000000%02d000000000\n", i, i, i, i%100)
	}
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	var p Point
	for b.Loop() {
		r := NewParser(in, 1)
		for {
			more, err := r.Next(&p)
			if !more {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
