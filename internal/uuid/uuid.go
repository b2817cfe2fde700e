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
