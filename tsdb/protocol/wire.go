package protocol

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// A remote-write 1.0 request is read series by series, so that a small message
// cannot become a large structure:
//
//	WriteRequest { repeated TimeSeries timeseries = 1; metadata = 3 }
//	TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2; exemplars = 3; histograms = 4 }
//	Label        { string name = 1; string value = 2 }
//	Sample       { double value = 1; int64 timestamp = 2 }
type wireSeries struct {
	labels     []wireLabel
	samples    []wireSample
	histograms int
}

type wireLabel struct{ name, value []byte }

type wireSample struct {
	t int64 // ms since 1970
	v float64
}

var errWire = errors.New("malformed protobuf message")

// fields calls f for each field of a message; b holds the bytes of a length-delimited
// one, v the number of others.
func fields(msg []byte, f func(num protowire.Number, b []byte, v uint64) error) error {
	for len(msg) > 0 {
		num, typ, n := protowire.ConsumeTag(msg)
		if n < 0 {
			return errWire
		}
		msg = msg[n:]
		var b []byte
		var v uint64
		switch typ {
		case protowire.BytesType:
			b, n = protowire.ConsumeBytes(msg)
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(msg)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(msg)
		default:
			n = protowire.ConsumeFieldValue(num, typ, msg)
		}
		if n < 0 {
			return errWire
		}
		msg = msg[n:]
		if err := f(num, b, v); err != nil {
			return err
		}
	}
	return nil
}

// decodeWrite calls f for each series, whose slices are valid until it returns.
func decodeWrite(msg []byte, f func(*wireSeries) error) error {
	var s wireSeries
	return fields(msg, func(num protowire.Number, b []byte, _ uint64) error {
		if num != 1 {
			return nil
		}
		if err := s.decode(b); err != nil {
			return err
		}
		return f(&s)
	})
}

const maxLabels = 1000

func (s *wireSeries) decode(msg []byte) error {
	*s = wireSeries{labels: s.labels[:0], samples: s.samples[:0]}
	return fields(msg, func(num protowire.Number, b []byte, _ uint64) error {
		switch num {
		case 1:
			if len(s.labels) == maxLabels {
				return fmt.Errorf("a series with more than %d labels", maxLabels)
			}
			var l wireLabel
			err := fields(b, func(num protowire.Number, b []byte, _ uint64) error {
				switch num {
				case 1:
					l.name = b
				case 2:
					l.value = b
				}
				return nil
			})
			s.labels = append(s.labels, l)
			return err
		case 2:
			var x wireSample
			err := fields(b, func(num protowire.Number, _ []byte, v uint64) error {
				switch num {
				case 1:
					x.v = math.Float64frombits(v)
				case 2:
					x.t = int64(v)
				}
				return nil
			})
			s.samples = append(s.samples, x)
			return err
		case 4:
			s.histograms++
		}
		return nil
	})
}
