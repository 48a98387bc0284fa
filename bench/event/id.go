package event

import "encoding/hex"

const (
	stripeIDLength = len("evt_1S") + 2*base62Length
	guidLength     = 36
	commitLength   = 40
	base62Length   = 11 // digits that hold any 64 bits
)

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// scramble maps numbers one to one onto numbers that look random (the finalizer
// of splitmix64), so that ids are distinct by construction and still spread
// over an index, and resist compression, as a sender's do.
func scramble(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// halves returns 128 bits for event n: the first half alone differs between
// the events of one seed, the second tells seeds apart.
func halves(seed uint64, n int64) (a, b uint64) {
	a = scramble(uint64(n) + seed*0x9e3779b97f4a7c15)
	return a, scramble(a ^ scramble(seed+1))
}

func appendStripeID(to []byte, seed uint64, n int64) []byte {
	a, b := halves(seed, n)
	to = append(to, "evt_1S"...)
	return appendBase62(appendBase62(to, a), b)
}

func appendBase62(to []byte, x uint64) []byte {
	var text [base62Length]byte
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = digits[x%62]
		x /= 62
	}
	return append(to, text[:]...)
}

func appendGUID(to []byte, seed uint64, n int64) []byte {
	a, b := halves(seed, n)
	var raw [16]byte
	putNumber(raw[:8], a)
	putNumber(raw[8:], b)
	at := 0
	for i, part := range []int{4, 2, 2, 2, 6} {
		if i > 0 {
			to = append(to, '-')
		}
		to = hex.AppendEncode(to, raw[at:at+part])
		at += part
	}
	return to
}

func appendCommit(to []byte, seed uint64, n int64) []byte {
	a, b := halves(seed, n)
	var raw [24]byte
	putNumber(raw[:8], b)
	putNumber(raw[8:16], a)
	putNumber(raw[16:], scramble(b+1))
	return hex.AppendEncode(to, raw[:commitLength/2])
}

func putNumber(to []byte, x uint64) {
	for i := range 8 {
		to[i] = byte(x >> (56 - 8*i))
	}
}
