package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
)

// readResponse reads one response to its end and says whether the connection
// can be used again. It understands what HTTP/1.1 servers answer to a POST:
// interim answers, a length, chunks, or a body up to the end of the connection.
func readResponse(in *bufio.Reader) (status int, keep bool, err error) {
	for {
		h, err := readHead(in)
		switch {
		case err != nil:
			return 0, false, err
		case h.status < 200 && h.status != 101:
			continue // 100 Continue, 103 Early Hints: the answer is still to come
		case h.status < 200 || h.status == 204 || h.status == 304:
			return h.status, h.keep, nil
		case h.chunked:
			return h.status, h.keep, skipChunks(in)
		case h.length >= 0:
			return h.status, h.keep, skip(in, h.length)
		}
		_, err = io.Copy(io.Discard, in)
		return h.status, false, err
	}
}

type head struct {
	status  int
	keep    bool
	chunked bool
	length  int64 // -1 when the head says none
}

var (
	errStatusLine = errors.New("what came back does not begin like an HTTP/1.x response")
	errLength     = errors.New("the response's Content-Length is not a length")
	errChunk      = errors.New("the response's chunks are broken")
)

func readHead(in *bufio.Reader) (head, error) {
	line, err := readLine(in)
	if err != nil {
		return head{}, err
	}
	h := head{length: -1}
	if len(line) < len("HTTP/1.1 200") || string(line[:7]) != "HTTP/1." || line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return head{}, errStatusLine
	}
	status, ok := number(line[9:12], 10)
	if !ok || status < 100 {
		return head{}, errStatusLine
	}
	h.status, h.keep = int(status), line[7] == '1'
	for {
		line, err := readLine(in)
		if err != nil || len(line) == 0 {
			return h, err
		}
		if err := h.field(line); err != nil {
			return head{}, err
		}
	}
}

// field looks at one header line. Names are told apart by their length first,
// because nearly all lines are of no interest.
func (h *head) field(line []byte) error {
	colon := bytes.IndexByte(line, ':')
	if colon < 0 {
		return fmt.Errorf("a header line of the response has no colon")
	}
	name, value := line[:colon], bytes.TrimSpace(line[colon+1:])
	switch {
	case len(name) == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
		n, ok := number(value, 10)
		if !ok || h.length >= 0 && h.length != n {
			return errLength
		}
		h.length = n
	case len(name) == len("Connection") && bytes.EqualFold(name, []byte("Connection")):
		h.keep = h.keep && !bytes.EqualFold(value, []byte("close"))
	case len(name) == len("Transfer-Encoding") && bytes.EqualFold(name, []byte("Transfer-Encoding")):
		h.chunked = bytes.EqualFold(value, []byte("chunked"))
	}
	return nil
}

func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return nil, whole(err)
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte{'\r'}), nil
}

func skip(in *bufio.Reader, n int64) error {
	for n > 0 {
		done, err := in.Discard(int(min(n, math.MaxInt32)))
		if err != nil {
			return whole(err)
		}
		n -= int64(done)
	}
	return nil
}

func skipChunks(in *bufio.Reader) error {
	for {
		line, err := readLine(in)
		if err != nil {
			return err
		}
		size, _, _ := bytes.Cut(line, []byte{';'})
		n, ok := number(bytes.TrimSpace(size), 16)
		if !ok {
			return errChunk
		}
		if n == 0 {
			return skipTrailer(in)
		}
		if err := skip(in, n); err != nil {
			return err
		}
		if line, err = readLine(in); err != nil {
			return err
		} else if len(line) != 0 {
			return errChunk
		}
	}
}

func skipTrailer(in *bufio.Reader) error {
	for {
		line, err := readLine(in)
		if err != nil || len(line) == 0 {
			return err
		}
	}
}

// whole turns an end that came too early into an error that says so.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// number reads digits and nothing else.
func number(text []byte, base int64) (n int64, ok bool) {
	for _, c := range text {
		d := int64(c - '0')
		switch {
		case c >= '0' && c <= '9':
		case c >= 'a' && c <= 'f':
			d = int64(c-'a') + 10
		case c >= 'A' && c <= 'F':
			d = int64(c-'A') + 10
		default:
			return 0, false
		}
		if d >= base || n > (math.MaxInt64-d)/base {
			return 0, false
		}
		n = n*base + d
	}
	return n, len(text) > 0
}
