package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/onceward/onceward/internal/config"
	"github.com/onceward/onceward/internal/gateway"
	"github.com/onceward/onceward/internal/telemetry"
	"github.com/onceward/onceward/provider"
)

// devCommand starts everything with no configuration.
type devCommand struct {
	Listen      string `help:"Intake address." default:"127.0.0.1:8080"`
	AdminListen string `help:"Address of the admin API." default:"127.0.0.1:8081"`
	Data        string `help:"Folder for the store." default:"onceward-data" placeholder:"DIR"`
	Quiet       bool   `help:"Do not print what the echo destination receives."`
}

const (
	devIntake = "127.0.0.1:8080"
	devAdmin  = "127.0.0.1:8081"
)

// devSignature is how the generic sample source signs.
func devSignature(name string) provider.Signature {
	if name != "hmac" {
		return provider.Signature{}
	}
	return provider.Signature{Header: "X-Signature", Algorithm: "sha256", Encoding: "hex", Prefix: "sha256=", Content: "{body}"}
}

// Run starts the gateway with a sample source for each sender and an echo
// destination, and prints what to try.
func (d *devCommand) Run(ctx context.Context, a *app) error {
	echo, err := newFarSide("127.0.0.1:0")
	if err != nil {
		return err
	}
	defer echo.close()
	if !d.Quiet {
		echo.onCall = func(c farCall) { fmt.Fprintf(a.stdout, "echo  %s\n", printable(c.String())) }
	}
	if err := os.MkdirAll(d.Data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	text := d.config(echo.url())
	c, err := config.Parse("onceward dev", []byte(text), os.LookupEnv, os.ReadFile)
	if err != nil {
		return err
	}
	log := telemetry.NewLogger(a.stderr, "warn", "text")
	g, err := gateway.New(c, log, versionText())
	if err != nil {
		return err
	}
	for _, address := range []string{d.Listen, d.AdminListen} {
		if l, err := net.Listen("tcp", address); err != nil {
			return fmt.Errorf("%s is taken by another process; --listen and --admin-listen choose other addresses", address)
		} else {
			_ = l.Close() // it was only to see
		}
	}
	if err := g.Start(ctx); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, `Onceward is running. Nothing here is secret; do not expose it.

  intake       %s{source}   one source for each of %d senders: onceward providers list
  admin API    %s
  destination  %s (echo; deduplicates by Idempotency-Key)
  data         %s

Send a Stripe event five times, then look at its story:

  %s send --provider stripe --copies 5%s
  %s events list%s

`, g.IntakeURL(), len(provider.Names()), g.AdminURL(), echo.url(), d.Data, os.Args[0], d.urlFlag(g), os.Args[0], d.adminFlag(g))
	<-ctx.Done()
	return stop(g)
}

func (d *devCommand) urlFlag(g *gateway.Gateway) string {
	if d.Listen == devIntake {
		return ""
	}
	return " --url " + g.IntakeURL() + "stripe"
}

func (d *devCommand) adminFlag(g *gateway.Gateway) string {
	if d.AdminListen == devAdmin {
		return ""
	}
	return " --admin " + g.AdminURL()
}

// config is the configuration that dev runs with: a good first one to copy.
func (d *devCommand) config(echo string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "store: %q\nintake: {listen: %q}\nadmin: {listen: %q}\nsources:\n", "sqlite:"+filepath.Join(d.Data, "onceward.db"), d.Listen, d.AdminListen)
	for _, name := range provider.Names() {
		fmt.Fprintf(&b, "  %s:\n    provider: %s\n    environment: development\n    on_stale: accept # samples are of a fixed day\n", name, name)
		if secrets := provider.Trial(name); secrets != nil { // they protect nothing: everybody knows them
			b.WriteString("    secrets:\n")
			for _, secret := range secrets {
				fmt.Fprintf(&b, "      - %q\n", secret)
			}
		}
		switch name {
		case "hmac":
			b.WriteString("    signature: {header: X-Signature, prefix: \"sha256=\"}\n    id: body:id\n    type: body:type\n")
		case "none":
			b.WriteString("    id: body-sha256\n")
		}
	}
	fmt.Fprintf(&b, `destinations:
  echo:
    url: %s
    effect: keyed
    result: header:Onceward-Result
    retry: {attempts: 9, first: 1s, max: 5m}
    allow_private: true
operations:
  echo:
    source: [%s]
    destination: echo
log: {level: warn, format: text}
`, echo, strings.Join(provider.Names(), ", "))
	return b.String()
}
