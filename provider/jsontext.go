package provider

import (
	"unicode/utf16"
	"unicode/utf8"
)

// escapeLength returns the length of the escape at the beginning of data: 2,
// 6 for \uXXXX, 0 when it is none.
func escapeLength(data []byte) int {
	if len(data) < 2 {
		return 0
	}
	switch data[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := unit(data); ok {
			return 6
		}
	}
	return 0
}

// unit reads the code unit of a \uXXXX escape.
func unit(data []byte) (u rune, ok bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	for _, c := range data[2:6] {
		switch {
		case c-'0' <= 9:
			u = u<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			u = u<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return u, true
}

// unescape appends what the inside of a valid JSON string says. A surrogate
// without its other half has no text; it is written as the three bytes of its
// number, which are not UTF-8 and so match no configured key, and whole is false.
func unescape(dst, inside []byte) (text []byte, whole bool) {
	whole = true
	for i := 0; i < len(inside); {
		c := inside[i]
		if c != '\\' || i+1 >= len(inside) {
			dst = append(dst, c)
			i++
			continue
		}
		if inside[i+1] != 'u' {
			dst = append(dst, short(inside[i+1]))
			i += 2
			continue
		}
		u, _ := unit(inside[i:])
		i += 6
		if !utf16.IsSurrogate(u) {
			dst = utf8.AppendRune(dst, u)
			continue
		}
		if low, ok := unit(inside[min(i, len(inside)):]); ok {
			if pair := utf16.DecodeRune(u, low); pair != utf8.RuneError {
				dst = utf8.AppendRune(dst, pair)
				i += 6
				continue
			}
		}
		whole = false
		dst = append(dst, 0xe0|byte(u>>12), 0x80|byte(u>>6)&0x3f, 0x80|byte(u)&0x3f)
	}
	return dst, whole
}

// short returns what a two-character escape stands for.
func short(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}
