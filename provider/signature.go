package provider

import (
	"net/textproto"
	"strings"
	"time"
)

// Signature describes an HMAC that travels in one header. Built-in senders
// fill it as data; the generic provider hmac takes it from the configuration.
type Signature struct {
	Header    string // name of the header
	Algorithm string // sha1, sha256 (the default), sha512
	Encoding  string // hex (the default), base64
	// Prefix stands before the signature: "sha256=", "v1=". A header may hold
	// several entries, separated by commas, semicolons or spaces; those with
	// another prefix are skipped.
	Prefix string
	// Content is what is signed: text with {body}, {timestamp}, {url},
	// {method} and {header:NAME} in it. The default is {body}.
	Content string
	// Timestamp is where the signed time is: header:NAME, or element:NAME for
	// an entry NAME=… of the signature's own header.
	Timestamp string
	Tolerance time.Duration
	Decoded   bool // the plain body is signed although it travels compressed

	// Of built-in senders only:
	Key   string // how the secret spells the key: "" as it stands, hex, base64
	Form  string // of a form only this field is signed, decoded
	Bare  bool   // the timestamp is the header's first entry, without a name
	Allow string // header that names the algorithm; it has to say Means
	Means string
	// Groups are separated by spaces in the header, each with a time of its own.
	Groups   bool
	TimeText bool // times are written as RFC 3339
	Future   bool // a signed time that lies ahead is accepted
}

// formField returns the bytes of one field of a form.
func formField(body []byte, name string) []byte {
	found := field(&expression{kind: fromForm, name: name}, string(body))
	return []byte(found.text)
}

type pieceKind uint8

const (
	literal pieceKind = iota
	bodyPiece
	timestampPiece
	urlPiece
	methodPiece
	headerPiece
)

// piece is one part of the signed content.
type piece struct {
	kind pieceKind
	text string // the literal, or the header's canonical name
}

// pieces reads a content template.
func pieces(template string) ([]piece, error) {
	var list []piece
	for template != "" {
		before, rest, found := strings.Cut(template, "{")
		if before != "" {
			list = append(list, piece{literal, before})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, wrong("signature.content", "{%s lacks its closing brace", name)
		}
		header, isHeader := strings.CutPrefix(name, "header:")
		switch {
		case name == "body":
			list = append(list, piece{kind: bodyPiece})
		case name == "timestamp":
			list = append(list, piece{kind: timestampPiece})
		case name == "url":
			list = append(list, piece{kind: urlPiece})
		case name == "method":
			list = append(list, piece{kind: methodPiece})
		case isHeader && validHeader(header):
			list = append(list, piece{headerPiece, textproto.CanonicalMIMEHeaderKey(header)})
		default:
			return nil, wrong("signature.content", "{%s} is unknown; use {body}, {timestamp}, {url}, {method} or {header:NAME}", name)
		}
		template = after
	}
	return list, nil
}

// validHeader reports whether name can be a header's name.
func validHeader(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

// separators stand between the entries of a signature header.
const separators = ",; \t"

// entries walks over the entries of a signature header that begin with the
// prefix, without the prefix, until visit returns true. The prefix is looked
// for before the separators, because it may contain one ("v1,").
func entries(values []string, prefix string, visit func(entry string) bool) bool {
	for _, value := range values {
		for {
			value = strings.TrimLeft(value, separators)
			if value == "" {
				break
			}
			rest, wanted := strings.CutPrefix(value, prefix)
			end := strings.IndexAny(rest, separators)
			if end < 0 {
				end = len(rest)
			}
			if wanted && visit(rest[:end]) {
				return true
			}
			value = rest[end:]
		}
	}
	return false
}
