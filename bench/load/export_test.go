package load

import (
	"bufio"
	"time"
)

// ReadResponse lets the parser be tested without a network.
func ReadResponse(in *bufio.Reader) (status int, keep bool, err error) { return readResponse(in) }

// Due lets an open loop's schedule be tested without a clock.
func Due(start time.Time, rate float64, n int64) time.Time { return schedule{start, rate}.due(n) }
