package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/onceward/onceward/internal/config"
)

// TestBadFiles holds each file of testdata/bad against the message it must
// give. Secrets in them are called hush…, and no message may contain one.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.txtar")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			content, want := archive(t, file)
			_, err := config.Parse("bad.yaml", content, lookup, readFile)
			if err == nil {
				t.Fatal("it was accepted")
			}
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the message is\n%v\nand lacks\n%s", err, want)
			}
			if strings.Contains(err.Error(), "hush") {
				t.Errorf("a secret is in the message: %v", err)
			}
			var problems config.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("error is %T", err)
			}
			for _, p := range problems {
				if p.File != "bad.yaml" || p.Line < 1 || p.Column < 1 || p.Rule == "" {
					t.Errorf("incomplete: %+v", p)
				}
			}
		})
	}
}

// archive reads a file of two parts, "-- bad.yaml --" and "-- error --".
func archive(t testing.TB, file string) (content []byte, message string) {
	t.Helper()
	all, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	yaml, message, ok := strings.Cut(strings.TrimPrefix(string(all), "-- bad.yaml --\n"), "-- error --\n")
	if !ok {
		t.Fatalf("%s has no error part", file)
	}
	return []byte(yaml), strings.TrimSpace(message)
}

func TestASecretNeverShows(t *testing.T) {
	secret := config.NewSecret("hushhush", "literal")
	c := &config.Config{Sources: []config.Source{{Secrets: []config.Secret{secret}}}, Admin: config.Admin{Tokens: []config.Token{{Token: secret}}}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+"\n", secret)
		fmt.Fprintf(&out, verb+"\n", &secret)
		fmt.Fprintf(&out, verb+"\n", c)
		fmt.Fprintf(&out, verb+"\n", *c)
	}
	fmt.Fprintln(&out, secret.String(), secret.GoString())
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		b, err := marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(b)
	}
	text, _ := secret.MarshalText()
	out.Write(text)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "secret", secret, "config", c)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "secret", secret, "config", c)
	for _, form := range []string{"hushhush", fmt.Sprintf("%x", "hushhush"), "aHVzaGh1c2g"} {
		if strings.Contains(strings.ToLower(out.String()), strings.ToLower(form)) {
			t.Errorf("%q shows in %s", form, out.String())
		}
	}
}

func TestAllWaysOfGivingASecretTrimOneNewline(t *testing.T) {
	for _, end := range []string{"", "\n", "\r\n"} {
		env := func(string) (string, bool) { return "hushhush" + end, true }
		read := func(string) ([]byte, error) { return []byte("hushhush" + end), nil }
		for _, written := range []string{"${X}", "file:/x", "hushhush" + end} {
			content := fmt.Sprintf("sources: {gh: {provider: github, secrets: [%q]}}", written)
			c, err := config.Parse("c", []byte(content), env, read)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Sources[0].Secrets[0].Reveal(); got != "hushhush" {
				t.Errorf("%q: secret is %q", content, got)
			}
		}
	}
}

var update = flag.Bool("update", false, "write the generated files anew")

func TestReferenceAndSchemaAreGenerated(t *testing.T) {
	for path, want := range map[string][]byte{
		"../../docs/reference/config.md":          config.Reference(),
		"../../docs/reference/config.schema.json": config.JSONSchema(),
	} {
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the code generates; run go generate ./internal/config (%v)", path, err)
		}
	}
}

func FuzzConfig(f *testing.F) {
	good, err := filepath.Glob("testdata/good.*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range good {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	bad, err := filepath.Glob("testdata/bad/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range bad {
		content, _ := archive(f, file)
		f.Add(content)
	}
	for _, seed := range []string{"{", "? [a]: b", "- - -", "a: |\n  b\n c", "\x00", "*a", "&a [*a]", "%YAML 1.1\n---\n", "!!binary x", "a: 'b", "'\\", "sources: {? x : y}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		c, err := config.Parse("fuzz", content, lookup, readFile)
		if err != nil {
			var problems config.Problems
			if c != nil || !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("config %v, error %v", c, err)
			}
			return
		}
		if c.SQLitePath() == "" || c.Workers < 1 || c.Sweep.Every <= 0 {
			t.Fatalf("accepted without a rule kept: %+v", c)
		}
		for _, o := range c.Operations {
			one := o.Destination != "" && o.Lease > 0
			if len(o.Sources) == 0 || one == (len(o.Steps) > 0) {
				t.Fatalf("accepted operation %+v", o)
			}
			for _, s := range o.Steps {
				if s.Name == "" || s.Destination == "" || s.Lease <= 0 {
					t.Fatalf("accepted step %+v of %+v", s, o)
				}
			}
		}
		for _, d := range c.Destinations {
			if d.Effect != "keyed" && d.Effect != "unsafe" && d.Effect != "lookup" || (d.Effect == "lookup") != (d.Lookup != nil) || d.Retry.Attempts < 1 || d.Concurrency < 1 {
				t.Fatalf("accepted destination %+v", d)
			}
		}
	})
}
