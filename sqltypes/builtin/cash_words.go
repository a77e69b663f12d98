package builtin

import "strings"

var (
	smallNumbers = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty")
	tens         = strings.Fields("- - twenty thirty forty fifty sixty seventy eighty ninety")
	cashScales   = strings.Fields("quadrillion trillion billion million thousand")
)

// numberWords spells a number below 1000 as PostgreSQL's cash_words does.
func numberWords(n uint64) string {
	rest := n % 100
	head := ""
	switch {
	case n <= 20:
		return smallNumbers[n]
	case rest == 0:
		return smallNumbers[n/100] + " hundred"
	case n > 99:
		head = smallNumbers[n/100] + " hundred "
		if rest < 20 && !(n%10 == 0 && rest > 10) {
			head += "and "
		}
	}
	switch {
	case n%10 == 0 && rest > 10:
		return head + tens[rest/10]
	case rest < 20:
		return head + smallNumbers[rest]
	}
	return head + tens[rest/10] + " " + smallNumbers[rest%10]
}

// cashWords spells an amount of money in cents.
func cashWords(v int64) string {
	var b strings.Builder
	n := uint64(v)
	if v < 0 {
		n = -n
		b.WriteString("minus ")
	}
	start := b.Len()
	unit := uint64(100_000_000_000_000_000) // a quadrillion of hundreds of cents
	for _, scale := range cashScales {
		if m := n / unit % 1000; m != 0 {
			b.WriteString(numberWords(m) + " " + scale + " ")
		}
		unit /= 1000
	}
	if m := n / 100 % 1000; m != 0 {
		b.WriteString(numberWords(m))
	}
	if b.Len() == start {
		b.WriteString("zero")
	}
	if n/100 == 1 {
		b.WriteString(" dollar and ")
	} else {
		b.WriteString(" dollars and ")
	}
	b.WriteString(numberWords(n % 100))
	if n%100 == 1 {
		b.WriteString(" cent")
	} else {
		b.WriteString(" cents")
	}
	s := b.String()
	return strings.ToUpper(s[:1]) + s[1:]
}

func init() {
	scalarTable{
		"cash_words": func(_ *Call, a []Datum) (Datum, error) { return text(cashWords(a[0].I)) },
	}.register()
}
