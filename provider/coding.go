package provider

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Errors of [DecodeBody] that callers act on.
var (
	// ErrUnknownCoding means that the body's content coding is not read here,
	// or that there are several: the answer is 415.
	ErrUnknownCoding = errors.New("content coding is not supported; send the body plain or as gzip")
	// ErrDecodedTooLarge means that the body grows past the limit.
	ErrDecodedTooLarge = errors.New("body is larger than the limit when decoded")
)

// DecodeBody undoes a content coding, to read an identity or to verify a
// signature over the plain text. At most limit bytes come out.
func DecodeBody(encoding string, body []byte, limit int64) ([]byte, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
	default:
		return nil, ErrUnknownCoding
	}
	reader, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("read gzip: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(reader, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read gzip: %w", err)
	}
	if int64(len(plain)) > limit {
		return nil, ErrDecodedTooLarge
	}
	return plain, nil
}
