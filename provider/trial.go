package provider

import (
	"encoding/base64"
	"encoding/hex"
)

// Trial returns secrets with which a sender can be tried out where nothing is
// at stake: `onceward dev` verifies with them, and `onceward send` signs. They
// protect nothing, because everybody knows them.
func Trial(name string) []string {
	c, found := Find(name)
	plain := "onceward-dev-secret-for-" + name
	switch {
	case !found || name == "none":
		return nil
	case len(c.trial) > 0:
		return c.trial
	case c.Signature.Key == "hex":
		return []string{hex.EncodeToString([]byte(plain))}
	case c.Signature.Key == "base64":
		return []string{base64.StdEncoding.EncodeToString([]byte(plain))}
	case c.Scheme == "svix" || c.Scheme == "standard-webhooks":
		return []string{"whsec_b25jZXdhcmQtZGV2LXNlY3JldC1ub3QtcmVhbA=="}
	}
	return []string{plain}
}

// Key pairs of nobody, for senders that sign with one.
const (
	trialRSA = `-----BEGIN PRIVATE KEY-----
MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQCd0LNVjqWF+MOr
MZ2vzwv1dKZ9Fh7mL4TxeGrthhNIe2oFj/hiOf0feClFU6aOM09iMeXCzk0+HCHp
jvOdXA6C1dtRcovgOVOeuJiEw4VCW0ItadKF9YHJ9xhtuMgPYid7S0WMRNchPKO/
hVhBsH/C3KqXCbOyfT2dDD8X09bF99WdmCZpnGSQFj4cMAmtEoEVwhN1AFHxeQ9b
1wKL+4bASrrof94WIu4qo2TZxroz+OtguQ8Wyg5I2yKTzW4grUJ7b7iVjwnKmSog
wzHRf2FIlsOW5X3OcOBudhb+Ueukctvn5nLcOW8gkX9QbK4/HO/Xra/X9CFHDwOr
4ZoSBTEpAgMBAAECggEAAXdlb9xKQDKPAeMYAvX77NZ+GgqHtA3uu1jUuIXe3b/C
J6X+RzkLTQdZLdMF82C5bPvc9aM5r0PZvPwhBMjXUdf8yIGAQyT74zfgo0IsVbD3
+P34hhoMBXqxlsppNyW2C3SdeLJROUE2nc0rxDook8CoZ/cf0kmiNg3S3mzaMZR1
AlihwnA0R2ZwYMaWM06qaEZg12xCKtOZgtx+p+NZNnJU69wc5uqa7twZzUT6pHMP
2wFDYjrP61a5PF5RQbpR68V5lhgdb+NbfS90iSQAk1LDE4yH++VlVbpz4PK32PeB
n6MmjsvnXalG2Elzmo/6RetdIbRaNji94yu4qWmdoQKBgQDPT5e/X313qgw7iAH+
KPI24RlLZ7+DRcktnJZKBP6whuFg6QGZGDHHCHFOv3SvemPv2+4WzfzRUQRgcKvf
42Zf4oF90P4iS0MOlTrG6g8BPqRUoyQYLHeSdy49Bu+pG7iOY0eseHtpQAe/DlEx
vhEbMdiAMcK8wpUCfyMWlA6eCQKBgQDC4TgKzfNA7saUA3m1K6fCBjnsug+9zUIx
dmH6GtcrZ4NdvG04oXQCjo3xlVvwy799JVl1dV5HtlITkQ7mlv92HajxSwqPG+4z
R3QBfGqOdc9xbm3ZIWKRVXMkQmryP9n8mkcTn5yIoEf1GHOjmC+djMeN9od3uB3S
wiomvWDCIQKBgG6UCOA2QglrNb0nTdDQ7GmjZceX3kpaFfXzWSLASU3FlEAJ6SVN
B3gfo7iaXNYg1V+ikvutAhZwPYJndvYkKH4qpmGC8Zs/Q9RqewCQ5lIGpMbUgjM2
vMzuL0a0BW/Rbn7cq+VuGn3IfplFPL/ont0/mDjA0hu3Op4rTH8FmEppAoGAfktG
7nmZ87LKrpGyBl9MUMmIMIpEOVUUWMnHpTZPy6lB0TWT8udvL1kDVFTfSKZCavAR
kbWGbCMT/eo8JeQlmn6ORhHDvgrzy/e6jlv7Emf3ECPovJaOMnGWNSF1/ZizxKiW
93ixEToOaCB4kMTH1uqtSKtED6oaacO7XW/NjQECgYAxkcwm45milcvr/W45h7mL
SG6iDIhY3jYdhepa6VfI2WQqq07+R3eR3e4i1r1ZLvIrvysQ5YBeBNKfOLFMpVtV
d6v4tUDGFrEduNUTRJI1Qt+Jv6B5uEYpgX9I2v4cxo6M4aDRu+zzw/k5ItTK8I4p
wEMfRtGtH8fNNUQbHZ0HYA==
-----END PRIVATE KEY-----`
	trialP256 = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAbJTKAwXJ0Do+uy7
1LWp4R5daDQnRMNSDZcL/WJyzMShRANCAARvChfZWqKLQjCRWNfE0aR4Oi9LZoD8
pnq07VhfJEhE3WKDX/tQ9+Fh9l2VsL/GfRe03q61kj2Frzos0rdhR0yf
-----END PRIVATE KEY-----`
	trialEd25519 = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEINcrjrONsUrVAZMHLgVdqj47oO1gXcI556s+DgWIpRN+
-----END PRIVATE KEY-----`
)
