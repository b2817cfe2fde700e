package nomadrpc

import (
	"bytes"
	"net"
	"reflect"
	"sync"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/yamux"
)

// Bytes that say what follows on a connection or a stream (helper/pool/conn.go).
const (
	modeRPC         = 0x01
	modeRaft        = 0x02
	modeMultiplex   = 0x03
	modeTLS         = 0x04
	modeStreaming   = 0x05
	modeMultiplexV2 = 0x06
)

// handle has the options of structs.MsgpackHandle, which have been the same since 1.4.3.
var handle = func() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{}
	h.RawToString = true
	h.BasicHandle.TimeNotBuiltin = true
	h.MapType = reflect.TypeFor[map[string]any]()
	return h
}()

// encoder turns values into bytes that are written at once: one frame of yamux for a message.
type encoder struct {
	buf bytes.Buffer
	enc *codec.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.enc = codec.NewEncoder(&e.buf, handle)
	return e
}}

// keptBuffer is the size of the largest buffer that is kept for the next message.
const keptBuffer = 64 << 10

// encode calls write with the values in MessagePack, one after the other.
func encode(write func([]byte) error, values ...any) error {
	e := encoders.Get().(*encoder)
	e.buf.Reset()
	e.enc.Reset(&e.buf)
	for _, v := range values {
		if err := e.enc.Encode(v); err != nil {
			return err // the encoder is left to the garbage collector
		}
	}
	err := write(e.buf.Bytes())
	if e.buf.Cap() <= keptBuffer {
		encoders.Put(e)
	}
	return err
}

var decoders = sync.Pool{New: func() any { return codec.NewDecoderBytes(nil, handle) }}

// decode reads one value, into v.
func decode(raw []byte, v any) error {
	d := decoders.Get().(*codec.Decoder)
	d.ResetBytes(raw)
	if err := d.Decode(v); err != nil {
		return err // the decoder is left to the garbage collector
	}
	d.ResetBytes(nil)
	decoders.Put(d)
	return nil
}

// patientConn is a connection whose writes fail when the other end has taken nothing for so
// long. Yamux itself would wait for ever.
type patientConn struct {
	net.Conn
	timeout time.Duration
}

func (c patientConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// yamuxConfig is Nomad's, which is yamux's default, but for the log and who sends pings.
func yamuxConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.LogOutput, c.Logger = nil, silent{}
	c.EnableKeepAlive = false // frames.watch does that
	return c
}

// silent is yamux's log. A session's end has one reason, and who reads or writes at that
// moment reports it.
type silent struct{}

func (silent) Print(...any)          {}
func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}
