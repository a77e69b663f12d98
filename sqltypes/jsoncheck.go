package sqltypes

import "errors"

var errBadJSON = errors.New("sqltypes: not a jsonb value")

// CheckJSON checks bytes from outside that claim to be a jsonb value: every reader
// of JSON may then be used on them. Bytes of this program's own making need no check.
func CheckJSON(s string) error { return checkJSON(s, 0) }

func checkJSON(s string, depth int) error {
	if s == "" || depth > maxJSONDepth {
		return errBadJSON
	}
	body := s[1:]
	switch s[0] {
	case tagNull, tagFalse, tagTrue:
		if body != "" {
			return errBadJSON
		}
	case tagInt:
		if _, n := varintS(body); n <= 0 || n != len(body) {
			return errBadJSON
		}
	case tagDecimal:
		scale, n := uvarintS(body)
		if n <= 0 || scale == 0 || scale > numericMaxScale {
			return errBadJSON
		}
		if _, m := varintS(body[n:]); m <= 0 || n+m != len(body) {
			return errBadJSON
		}
	case tagWide:
		if len(body) < 4 || body[0] > 1 || int(be16(body[1:])) > numericMaxScale || body[3] == 0 {
			return errBadJSON
		}
	case tagString:
		return ValidText(body)
	case tagArray, tagObject, tagArray32, tagObject32:
		return checkContainer(JSON{s}, depth)
	default:
		return errBadJSON
	}
	return nil
}

func checkContainer(j JSON, depth int) error {
	w := j.width()
	if len(j.s) < 1+w {
		return errBadJSON
	}
	object := j.s[0] == tagObject || j.s[0] == tagObject32
	n := j.word(w, 1)
	head := w * n
	if object {
		head *= 2
	}
	if n > len(j.s)/w || 1+w+head > len(j.s) {
		return errBadJSON
	}
	data := len(j.s) - 1 - w - head
	keys, err := checkOffsets(j, w, 1+w, n, data, !object)
	if err == nil && object {
		_, err = checkOffsets(j, w, 1+w+w*n, n, data-keys, true)
	}
	if err != nil {
		return err
	}
	for i := range n {
		v := j
		if object {
			if err := ValidText(j.Key(i)); err != nil {
				return err
			}
			if i > 0 && compareKeys(j.Key(i-1), j.Key(i)) >= 0 {
				return errBadJSON
			}
			v = j.Value(i)
		} else {
			v = j.Index(i)
		}
		if err := checkJSON(v.s, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// checkOffsets checks n offsets that grow up to size, or to exactly size; it
// answers the last one.
func checkOffsets(j JSON, w, at, n, size int, exact bool) (last int, err error) {
	for i := range n {
		end := j.word(w, at+w*i)
		if end < last || end > size {
			return 0, errBadJSON
		}
		last = end
	}
	if exact && last != size {
		return 0, errBadJSON
	}
	return last, nil
}
