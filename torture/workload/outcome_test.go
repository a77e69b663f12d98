package workload

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/torture/history"
)

// TestGivenUp: a last attempt that certainly failed says nothing of an earlier one
// whose answer was lost.
func TestGivenUp(t *testing.T) {
	for _, err := range []error{notCommitted{errors.New("conn closed")}, pgx.ErrTxCommitRollback, &pgconn.PgError{Code: "57P03"}, &pgconn.PgError{Code: "40003"}, errors.New("EOF")} {
		if got := Outcome(givenUp(err, false)); got != Outcome(err) {
			t.Errorf("%v, the first attempt: %v", err, got)
		}
		if got := Outcome(givenUp(err, true)); got != history.Unknown {
			t.Errorf("%v, after one whose answer was lost: %v", err, got)
		}
	}
}
