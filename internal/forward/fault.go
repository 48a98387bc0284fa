package forward

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// fault says what a call without an answer proved. The account of what was
// written decides; the error only chooses the words. An error's own text is
// never passed on, because net/http and net/url print addresses, queries and
// bytes of the answer into it.
func (c *Client) fault(ctx context.Context, err error, known account) Answer {
	if known.sent() {
		a := Answer{Kind: Ambiguous, Sent: true, Sends: max(known.sends, 1)}
		when := "after the request was written"
		switch {
		case known.answering:
			when = "inside the answer's head"
		case !known.whole:
			when = "while the request was being written"
		}
		a.Reason = brokenCall(ctx, err, known) + " " + when
		return a
	}
	a := Answer{Kind: NotApplied}
	var connect *connectError
	switch {
	case known.late:
		a.Proof = "no byte written"
		a.Reason = "the moment to send had passed; nothing was written"
	case errors.Is(err, errPrivate):
		a.Proof = "dial: " + errPrivate.Error()
		a.Reason = errPrivate.Error() + "; allow_private permits them for this destination"
	case errors.As(err, &connect):
		a.Proof = unconnected(connect)
		a.Reason = a.Proof
	case !known.connected:
		a.Proof = "dial: " + ended(ctx, "gave up before there was a connection")
		a.Reason = a.Proof
	default:
		a.Proof = "no byte written"
		a.Reason = ended(ctx, "the connection was dead") + " before a byte was written"
	}
	return a
}

func ended(ctx context.Context, otherwise string) string {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "timeout"
	case ctx.Err() != nil:
		return "the call was cancelled"
	}
	return otherwise
}

// brokenCall names how a call ended. The first byte of an answer on a
// connection that did not break is an answer that could not be read.
func brokenCall(ctx context.Context, err error, known account) string {
	switch word := ended(ctx, ""); {
	case word != "":
		return word
	case known.answering && known.broke == nil:
		return "malformed answer"
	case known.broke != nil:
		return broken(known.broke)
	}
	return broken(err)
}

// broken names how a connection ended.
func broken(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "the call was cancelled"
	}
	return "connection closed"
}

// unconnected says why there was no connection.
func unconnected(e *connectError) string {
	if e.handshake {
		return "tls: " + handshakeText(e.err)
	}
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(e.err, &dns):
		switch {
		case dns.IsNotFound:
			return "dns: no such host"
		case dns.IsTimeout:
			return "dns: timeout"
		}
		return "dns: the name server failed"
	case errors.Is(e.err, syscall.ECONNREFUSED):
		return "dial: connection refused"
	case errors.Is(e.err, syscall.ECONNRESET):
		return "dial: reset"
	case errors.Is(e.err, syscall.EHOSTUNREACH):
		return "dial: no route to host"
	case errors.Is(e.err, syscall.ENETUNREACH):
		return "dial: network unreachable"
	case errors.As(e.err, &timeout) && timeout.Timeout():
		return "dial: timeout"
	}
	return "dial: failed"
}

func handshakeText(err error) string {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		timeout   net.Error
	)
	switch {
	case errors.As(err, &authority):
		return "the certificate is signed by an unknown authority"
	case errors.As(err, &name):
		return "the certificate is for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired or is not yet valid"
	case errors.As(err, &invalid):
		return "the certificate is not valid"
	case errors.As(err, &record):
		return "the other side does not speak TLS"
	case errors.As(err, &alert):
		return fmt.Sprintf("the other side refused the handshake (alert %d)", uint8(alert))
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout in the handshake"
	}
	return "the handshake failed"
}
