package nomadrpc

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits bound one message, which is one value of MessagePack with all that it contains.
type Limits struct {
	Bytes  int // its length
	Values int // the values in it
	Depth  int // of values in values
}

// Limits of messages. Servers hear from anybody, clients from servers that they chose: an
// answer of Alloc.GetAllocs has whole jobs in it.
var (
	RequestLimits = Limits{Bytes: 8 << 20, Values: 1 << 18, Depth: 128}
	AnswerLimits  = Limits{Bytes: 256 << 20, Values: 1 << 24, Depth: 1024}
	smallMessage  = Limits{Bytes: 64 << 10, Values: 8 << 10}
)

// ErrTooLarge is wrapped by errors for messages beyond a limit.
var ErrTooLarge = errors.New("message too large")

var (
	errNotMsgpack = errors.New("not MessagePack: 0xc1 starts no value")
	errExtension  = errors.New("MessagePack's extensions are no part of the protocol")
)

// message is a message being read.
type message struct {
	r      *bufio.Reader
	raw    []byte
	limits Limits
	values int
	// grow is called once, when the message turns out not to be small; nil = need not be.
	grow func() error
}

// readMessage appends the next message of r to raw.
func readMessage(r *bufio.Reader, raw []byte, limits Limits, grow func() error) ([]byte, error) {
	m := message{r: r, raw: raw[:0], limits: limits, grow: grow}
	// pending has the number of values still to come at each depth.
	var few [16]uint64
	pending := append(few[:0], 1)
	for len(pending) > 0 {
		last := len(pending) - 1
		if pending[last] == 0 {
			pending = pending[:last]
			continue
		}
		pending[last]--
		inside, err := m.value()
		if err != nil {
			if err == io.EOF && len(m.raw) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return m.raw, err
		}
		if inside > 0 {
			if pending = append(pending, inside); len(pending) > limits.Depth {
				return m.raw, fmt.Errorf("%w: values are %d deep", ErrTooLarge, limits.Depth)
			}
		}
	}
	return m.raw, nil
}

// value reads a value but for the values inside it, and returns how many those are.
func (m *message) value() (inside uint64, err error) {
	head, err := m.r.ReadByte()
	if err != nil {
		return 0, err
	}
	m.values++
	m.raw = append(m.raw, head)
	if err := m.check(0); err != nil {
		return 0, err
	}
	switch {
	case head <= 0x7f, head >= 0xe0: // small integers
		return 0, nil
	case head <= 0x8f:
		return 2 * uint64(head&0xf), nil // map
	case head <= 0x9f:
		return uint64(head & 0xf), nil // array
	case head <= 0xbf:
		return 0, m.bytes(uint64(head & 0x1f)) // string
	case head == 0xc1:
		return 0, errNotMsgpack
	}
	k := heads[head-0xc0]
	switch {
	case k.extension:
		return 0, errExtension
	case k.lengthSize == 0:
		return 0, m.bytes(uint64(k.fixed))
	}
	length, err := m.length(k.lengthSize)
	if err != nil {
		return 0, err
	}
	if k.children > 0 {
		return length * uint64(k.children), nil
	}
	return 0, m.bytes(length)
}

// head says what follows the first byte of a value: fixed bytes; or a length of so many
// bytes, and then as many times children values, or as many bytes.
type head struct {
	lengthSize, children, fixed uint8
	extension                   bool
}

// heads are those of the bytes 0xc0 to 0xdf.
var heads = [32]head{
	{}, {}, {}, {}, // nil, never used, false, true
	{lengthSize: 1}, {lengthSize: 2}, {lengthSize: 4}, // bytes
	{extension: true}, {extension: true}, {extension: true},
	{fixed: 4}, {fixed: 8}, // floats
	{fixed: 1}, {fixed: 2}, {fixed: 4}, {fixed: 8}, // unsigned integers
	{fixed: 1}, {fixed: 2}, {fixed: 4}, {fixed: 8}, // integers
	{extension: true}, {extension: true}, {extension: true}, {extension: true}, {extension: true},
	{lengthSize: 1}, {lengthSize: 2}, {lengthSize: 4}, // strings
	{lengthSize: 2, children: 1}, {lengthSize: 4, children: 1}, // arrays
	{lengthSize: 2, children: 2}, {lengthSize: 4, children: 2}, // maps
}

// length reads a length of size bytes.
func (m *message) length(size uint8) (uint64, error) {
	if err := m.bytes(uint64(size)); err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[8-size:], m.raw[len(m.raw)-int(size):])
	return binary.BigEndian.Uint64(wide[:]), nil
}

// bytes reads n bytes. It takes memory for them as they arrive.
func (m *message) bytes(n uint64) error {
	if err := m.check(n); err != nil {
		return err
	}
	const step = 32 << 10
	for n > 0 {
		now := int(min(n, step))
		from := len(m.raw)
		m.raw = append(m.raw, make([]byte, now)...)
		got, err := io.ReadFull(m.r, m.raw[from:])
		m.raw = m.raw[:from+got]
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		n -= uint64(now)
	}
	return nil
}

// check returns an error if the message is beyond its limits with n more bytes.
func (m *message) check(n uint64) error {
	total := uint64(len(m.raw)) + n
	switch {
	case total > uint64(m.limits.Bytes):
		return fmt.Errorf("%w: %d bytes or more, at most %d are allowed", ErrTooLarge, total, m.limits.Bytes)
	case m.values > m.limits.Values:
		return fmt.Errorf("%w: more than %d values", ErrTooLarge, m.limits.Values)
	case m.grow != nil && (total > uint64(smallMessage.Bytes) || m.values > smallMessage.Values):
		grow := m.grow
		m.grow = nil
		return grow()
	}
	return nil
}
