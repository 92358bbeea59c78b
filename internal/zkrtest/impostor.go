package zkrtest

import (
	"context"
	"encoding/binary"
	"io"
	"net"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// Impostor dials to what takes itself for a server: it lets a session begin, and
// answers each request, by its opcode, with what answer returns: an error code and
// a body, as they stand in a reply.
func Impostor(answer func(op int32) []byte) recipes.DialFunc {
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go impersonate(server, answer)
		return client, nil
	}
}

func impersonate(conn net.Conn, answer func(op int32) []byte) {
	defer conn.Close()
	if _, err := readFrame(conn); err != nil {
		return
	}
	reply := binary.BigEndian.AppendUint32(nil, 0) // to the handshake: version of the protocol
	reply = binary.BigEndian.AppendUint32(reply, uint32(Timeout.Milliseconds()))
	reply = binary.BigEndian.AppendUint64(reply, 7)
	reply = binary.BigEndian.AppendUint32(reply, 16)
	reply = append(reply, make([]byte, 16+1)...) // password, and that it is not read-only
	for {
		if writeFrame(conn, reply) != nil {
			return
		}
		request, err := readFrame(conn)
		if err != nil || len(request) < 8 {
			return
		}
		reply = append(append([]byte(nil), request[:4]...), make([]byte, 8)...) // xid, zxid
		reply = append(reply, answer(int32(binary.BigEndian.Uint32(request[4:])))...)
	}
}

func readFrame(r io.Reader) ([]byte, error) {
	var n uint32
	if err := binary.Read(r, binary.BigEndian, &n); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

func writeFrame(w io.Writer, b []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}
