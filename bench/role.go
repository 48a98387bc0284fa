package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// A role is a server that the measurement is compared with or sends to. Each
// is this same binary as a process of its own, so that its processor time and
// memory are counted apart.
const (
	roleNull  = "role-null"
	roleNaive = "role-naive"
	roleSink  = "role-sink"
)

func isRole(name string) bool { return name == roleNull || name == roleNaive || name == roleSink }

// roleOptions are the flags that roles share.
type roleOptions struct {
	style  string
	secret string
	dir    string
	delay  time.Duration
	ids    bool
}

// playRole serves until standard input ends, which is when whoever started it
// is done, or gone. The first line of output is the address.
func playRole(ctx context.Context, name string, args []string) error {
	var o roleOptions
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.StringVar(&o.style, "style", "stripe", "whose signatures to check")
	set.StringVar(&o.secret, "secret", "", "signing secret")
	set.StringVar(&o.dir, "dir", "", "where to keep data")
	set.DurationVar(&o.delay, "delay", 0, "how long an answer takes")
	set.BoolVar(&o.ids, "ids", false, "remember every event id")
	if err := set.Parse(args); err != nil {
		return err
	}
	var handler http.Handler
	switch name {
	case roleNull:
		handler = newNull(newVerifier(o.style, o.secret))
	case roleNaive:
		n, err := newNaive(ctx, newVerifier(o.style, o.secret), o.dir)
		if err != nil {
			return err
		}
		defer func() { _ = n.close() }() // its data are thrown away
		handler = n
	case roleSink:
		handler = newSink(o.delay, o.ids)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // an error is an end as well
		server.Close()
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
