package uuid

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
)

// Format returns the text of the UUID whose first eight bytes are hi and whose last are lo.
func Format(hi, lo uint64) string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], hi)
	binary.BigEndian.PutUint64(raw[8:], lo)
	text := [36]byte{8: '-', 13: '-', 18: '-', 23: '-'}
	hex.Encode(text[:8], raw[:4])
	hex.Encode(text[9:13], raw[4:6])
	hex.Encode(text[14:18], raw[6:8])
	hex.Encode(text[19:23], raw[8:10])
	hex.Encode(text[24:], raw[10:])
	return string(text[:])
}

// Random returns a UUID of version 4 (RFC 9562) made of the next two numbers of src.
func Random(src rand.Source) string {
	hi, lo := src.Uint64(), src.Uint64()
	return Format(hi&^0xf000|0x4000, lo&^(0xc<<60)|0x8<<60)
}

// Parse is the inverse of Format. It reports false for any other text, such as one with
// upper case letters.
func Parse(text string) (raw [16]byte, ok bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return raw, false
	}
	var bad byte
	for i, at := range [16]byte{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34} {
		hi, lo := digits[text[at]], digits[text[at+1]]
		raw[i] = hi<<4 | lo&0xf
		bad |= hi | lo
	}
	return raw, bad < 0x10
}

// digits has the values of the hexadecimal digits that Format writes; no other byte is
// below 0x10.
var digits = func() (values [256]byte) {
	for c := range values {
		values[c] = 0xff
	}
	for v, c := range []byte("0123456789abcdef") {
		values[c] = byte(v)
	}
	return values
}()
