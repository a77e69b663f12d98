package chunk

import "encoding/binary"

// Texts are a dictionary of the distinct values, in order of appearance, and the
// numbers of the values in it.

func appendTexts(dst []byte, v []string) []byte {
	dict := map[string]int64{}
	var words []string
	codes := make([]int64, len(v))
	for i, s := range v {
		c, ok := dict[s]
		if !ok {
			c = int64(len(words))
			dict[s] = c
			words = append(words, s)
		}
		codes[i] = c
	}
	dst = binary.AppendUvarint(dst, uint64(len(words)))
	for _, s := range words {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	return appendInts(dst, codes)
}

func decodeTexts(b []byte, dst []string) bool {
	n, k := binary.Uvarint(b)
	if k <= 0 || n == 0 || n > uint64(len(dst)) {
		return false
	}
	b = b[k:]
	words := make([]string, n)
	for i := range words {
		size, k := binary.Uvarint(b)
		if k <= 0 || size > uint64(len(b)-k) {
			return false
		}
		words[i] = string(b[k : k+int(size)])
		b = b[k+int(size):]
	}
	codes := make([]int64, len(dst))
	if _, ok := decodeInts(b, codes); !ok {
		return false
	}
	for i, c := range codes {
		if c < 0 || c >= int64(n) {
			return false
		}
		dst[i] = words[c]
	}
	return true
}
