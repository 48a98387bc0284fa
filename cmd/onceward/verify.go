package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/onceward/onceward/provider"
)

// verifyCommand says why a signature does or does not hold.
type verifyCommand struct {
	From      string         `arg:"" optional:"" help:"- reads one JSON object per line, in the shape of known-answer vectors, and answers one JSON verdict per line."`
	Provider  string         `help:"Provider whose contract applies."`
	Secret    []string       `help:"Signing secret; may be repeated. A secret on the command line is visible to other users of the machine; file:PATH reads it from a file." placeholder:"SECRET"`
	Header    []string       `help:"Header of the request, 'Name: value'; may be repeated." short:"H" sep:"none" placeholder:"LINE"`
	Body      string         `help:"File with the exact bytes of the body; - is standard input." type:"path" placeholder:"FILE"`
	URL       string         `help:"Public URL, for providers that sign it."`
	Now       int64          `help:"Clock in unix seconds; the default is now." placeholder:"SECONDS"`
	Tolerance *time.Duration `help:"Clock tolerance; 0 ignores freshness. The default is the provider's." placeholder:"DURATION"`
}

// errInvalidSignature has been explained on the output already.
var errInvalidSignature = errors.New("the request is not valid")

// maxVector is the longest line that verify - reads.
const maxVector = 64 << 20

// Run verifies one request given as flags, or many given as lines.
func (v *verifyCommand) Run(a *app) error {
	if v.From == "-" {
		return v.lines(a, os.Stdin)
	}
	if v.From != "" {
		return misuse("verify takes flags, or - for lines; not %q", v.From)
	}
	if v.Provider == "" {
		return misuse("say whose contract applies: --provider NAME (onceward providers list)")
	}
	vector, err := v.vector()
	if err != nil {
		return err
	}
	verdict := vector.Check()
	if err := printVerdict(a, verdict); err != nil {
		return err
	}
	if !verdict.Valid {
		return errInvalidSignature
	}
	return nil
}

func (v *verifyCommand) lines(a *app, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxVector)
	out := bufio.NewWriter(a.stdout)
	encoder := json.NewEncoder(out)
	for lines.Scan() {
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		var vector provider.Vector
		verdict := provider.VectorVerdict{Reason: "malformed-vector", Events: []string{}}
		if err := json.Unmarshal(lines.Bytes(), &vector); err != nil {
			verdict.Detail = "the line is not a vector: " + err.Error()
		} else {
			verdict = vector.Check()
		}
		if err := encoder.Encode(verdict); err != nil {
			return err
		}
		if err := out.Flush(); err != nil { // the other side may wait for it before it writes the next
			return err
		}
	}
	return lines.Err()
}

func (v *verifyCommand) vector() (provider.Vector, error) {
	vector := provider.Vector{Provider: v.Provider, Method: http.MethodPost, URL: v.URL, Headers: map[string]string{}}
	for i, secret := range v.Secret {
		value, err := secretValue(secret)
		if err != nil {
			return vector, err
		}
		vector.Secrets = append(vector.Secrets, provider.Secret{Label: fmt.Sprintf("secret %d", i+1), Value: value})
	}
	for _, line := range v.Header {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return vector, misuse("a header is written 'Name: value'")
		}
		vector.Headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	body, err := readBody(v.Body)
	if err != nil {
		return vector, err
	}
	vector.BodyBase64 = base64.StdEncoding.EncodeToString(body)
	now := v.Now
	if now == 0 {
		now = time.Now().Unix()
	}
	number := json.Number(fmt.Sprint(now))
	vector.Now = &number
	if v.Tolerance != nil {
		vector.Tolerance = json.RawMessage(fmt.Sprint(int64(v.Tolerance.Seconds())))
		if *v.Tolerance <= 0 {
			vector.Tolerance = json.RawMessage("null")
		}
	}
	return vector, nil
}

// secretValue reads a secret that was given as itself or as file:PATH.
func secretValue(text string) (string, error) {
	path, ok := strings.CutPrefix(text, "file:")
	if !ok {
		return text, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("secret: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"), nil
}

func readBody(name string) ([]byte, error) {
	switch name {
	case "":
		return nil, nil
	case "-":
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(name)
}

func printVerdict(a *app, v provider.VectorVerdict) error {
	if a.json {
		return json.NewEncoder(a.stdout).Encode(v)
	}
	var b strings.Builder
	if !v.Valid {
		line(&b, "not valid: %s", v.Reason)
		line(&b, "  %s", v.Detail)
	} else {
		line(&b, "valid (%s)", v.Secret)
		for _, id := range v.Events {
			line(&b, "  event %s", id)
		}
		if v.Type != "" {
			line(&b, "  type  %s", v.Type)
		}
		if v.Response != nil {
			line(&b, "  a handshake, answered %d %s", v.Response.Status, v.Response.Body)
		}
		if v.Detail != "" {
			line(&b, "  %s", v.Detail)
		}
	}
	_, err := io.WriteString(a.stdout, b.String())
	return err
}
