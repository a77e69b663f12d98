package wire

import (
	"bufio"
	"bytes"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"ostraka/sqltypes/pgerror"
)

// The hand-written Bind decoder accepts what pgproto3's accepts and reads the same.
func FuzzBind(f *testing.F) {
	enc := func(b pgproto3.Bind) []byte {
		out, err := b.Encode(nil)
		if err != nil {
			f.Fatal(err)
		}
		return out[5:]
	}
	f.Add(enc(pgproto3.Bind{}))
	f.Add(enc(pgproto3.Bind{DestinationPortal: "p", PreparedStatement: "s", ParameterFormatCodes: []int16{0, 1}, Parameters: [][]byte{nil, {1, 2}, {}}, ResultFormatCodes: []int16{1}}))
	f.Add([]byte("\x00\x00\x00\x00\x00\x01\xff\xff\xff\xfe\x00\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		var mine Bind
		err := mine.Decode(body)
		var ref pgproto3.Bind
		refErr := ref.Decode(body)
		if err != nil {
			return
		}
		if refErr != nil {
			t.Fatalf("accepted what pgproto3 refuses: %v", refErr)
		}
		if string(mine.Portal) != ref.DestinationPortal || string(mine.Statement) != ref.PreparedStatement || len(mine.Params) != len(ref.Parameters) {
			t.Fatalf("%+v != %+v", mine, ref)
		}
		for i := range mine.Params {
			if (mine.Params[i] == nil) != (ref.Parameters[i] == nil) || !bytes.Equal(mine.Params[i], ref.Parameters[i]) {
				t.Fatalf("parameter %d: %v != %v", i, mine.Params[i], ref.Parameters[i])
			}
		}
	})
}

func TestErrorFields(t *testing.T) {
	var sink bytes.Buffer
	o := NewOut(&sink)
	o.ErrorResponse(&pgerror.Error{Code: "23505", Message: "m", Detail: "d", Hint: "h", Position: 3, Where: "w", Schema: "s", Table: "t", Column: "c", DataType: "y", Constraint: "n"})
	o.Flush()
	fe := pgproto3.NewFrontend(&sink, nil)
	msg, err := fe.Receive()
	if err != nil {
		t.Fatal(err)
	}
	e := msg.(*pgproto3.ErrorResponse)
	if e.Severity != "ERROR" || e.SeverityUnlocalized != "ERROR" || e.Code != "23505" || e.Position != 3 || e.ConstraintName != "n" || e.DataTypeName != "y" || e.ColumnName != "c" {
		t.Fatalf("%+v", e)
	}
}

func TestReaderWakesAndRefuses(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	r := NewReader(bufio.NewReader(server), server, 1<<20)
	woken := make(chan struct{})
	r.OnWake = func() error { close(woken); return nil }
	done := make(chan error, 1)
	go func() {
		kind, body, err := r.Next()
		if err == nil && (kind != 'Q' || string(body) != "hi\x00") {
			t.Errorf("got %c %q", kind, body)
		}
		done <- err
	}()
	r.Wake()
	<-woken
	if _, err := client.Write([]byte("Q\x00\x00\x00\x07hi\x00")); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	go client.Write([]byte("D\xff\xff\xff\xff"))
	if _, _, err := r.Next(); !pgerror.Is(err, pgerror.ProtocolViolation) {
		t.Fatalf("huge length: %v", err)
	}
}

func TestEncodings(t *testing.T) {
	s, _ := Latin1.Decode([]byte{'a', 0xe9})
	if s != "aé" {
		t.Fatal(s)
	}
	b, err := Latin1.EncodeFrom([]byte("xaé"), 1)
	if err != nil || string(b) != "xa\xe9" {
		t.Fatalf("%q %v", b, err)
	}
	if _, err := Latin1.EncodeFrom([]byte("€"), 0); !pgerror.Is(err, pgerror.UntranslatableCharacter) {
		t.Fatal(err)
	}
	if _, err := UTF8.Decode([]byte{'a', 0xe9, 'b'}); !pgerror.Is(err, pgerror.CharacterNotInRepertoire) {
		t.Fatal(err)
	}
}
