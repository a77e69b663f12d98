package builtin

import "testing"

// TestCashWords compares with what PostgreSQL 15 answers.
func TestCashWords(t *testing.T) {
	for cents, want := range map[int64]string{
		0: "Zero dollars and zero cents", 100: "One dollar and zero cents", 101: "One dollar and one cent", -150: "Minus one dollar and fifty cents",
		2199: "Twenty one dollars and ninety nine cents", 11900: "One hundred and nineteen dollars and zero cents",
		100000:    "One thousand  dollars and zero cents",
		123456789: "One million two hundred thirty four thousand five hundred sixty seven dollars and eighty nine cents",
		9223372036854775807: "Ninety two quadrillion two hundred thirty three trillion seven hundred twenty billion three hundred sixty eight million " +
			"five hundred forty seven thousand seven hundred fifty eight dollars and seven cents",
	} {
		if got := cashWords(cents); got != want {
			t.Errorf("%d: %q, want %q", cents, got, want)
		}
	}
}
