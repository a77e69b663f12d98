package protocol

import (
	"encoding/binary"
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

// decodeWrite calls f for each series of a request, still encoded.
func decodeWrite(msg []byte, f func(series []byte) error) error {
	return fields(msg, func(num protowire.Number, b []byte, _ uint64) error {
		if num != 1 {
			return nil
		}
		return f(b)
	})
}

// Tags of the fields that plain reads.
const (
	tagLabel     = 1<<3 | 2
	tagSample    = 2<<3 | 2
	tagValue     = 1<<3 | 1
	tagTimestamp = 2 << 3 // a varint
)

// plain reads a series as Prometheus writes it, the labels and then the samples, into
// s.samples, and returns the labels in one piece. False: it is not like that.
func (s *wireSeries) plain(msg []byte) (labels []byte, ok bool) {
	at := 0
	for at < len(msg) && msg[at] == tagLabel {
		n, k := protowire.ConsumeVarint(msg[at+1:])
		if k < 0 || n > uint64(len(msg)-at-1-k) {
			return nil, false
		}
		at += 1 + k + int(n)
	}
	labels, msg = msg[:at], msg[at:]
	s.samples = s.samples[:0]
	for len(msg) > 0 {
		if msg[0] != tagSample || len(msg) < 2 || int(msg[1]) > len(msg)-2 || msg[1] > 0x7f {
			return nil, false
		}
		b := msg[2 : 2+msg[1]]
		msg = msg[2+len(b):]
		var x wireSample
		if len(b) > 8 && b[0] == tagValue {
			x.v = math.Float64frombits(binary.LittleEndian.Uint64(b[1:]))
			b = b[9:]
		}
		if len(b) > 1 && b[0] == tagTimestamp {
			v, k := protowire.ConsumeVarint(b[1:])
			if k < 0 {
				return nil, false
			}
			x.t, b = int64(v), b[1+k:]
		}
		if len(b) > 0 {
			return nil, false
		}
		s.samples = append(s.samples, x)
	}
	return labels, true
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
