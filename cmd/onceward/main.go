// Command onceward is the gateway and everything to look after it. Each command
// has a file of its own; this one parses the command line and turns what went
// wrong into an exit status: 0 done, 1 the answer is no, 2 wrong usage.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// commands is the whole command line.
type commands struct {
	Admin  string `help:"URL of the gateway's admin API." env:"ONCEWARD_ADMIN" default:"http://127.0.0.1:8081" placeholder:"URL"`
	Token  string `help:"Token for the admin API." env:"ONCEWARD_TOKEN" placeholder:"TOKEN"`
	Output string `help:"How to print: ${enum}." short:"o" enum:"text,json" default:"text"`

	Dev     devCommand     `cmd:"" help:"Start everything with no configuration, to try it."`
	Demo    demoCommand    `cmd:"" help:"Prove the promise in under a minute: duplicates, concurrency, a crash in the middle."`
	Serve   serveCommand   `cmd:"" help:"Run the gateway."`
	Check   checkCommand   `cmd:"" help:"Say whether a configuration is valid, and what it means."`
	Migrate migrateCommand `cmd:"" help:"Bring the store's schema up to date."`
	Verify  verifyCommand  `cmd:"" help:"Say why a signature does or does not hold."`
	Send    sendCommand    `cmd:"" help:"Sign an event as any sender would, and send it."`

	Backfill backfillCommand `cmd:"" help:"Ask a sender's API for what was missed, and bring it in."`

	Providers    providersCommand    `cmd:"" help:"Look at the senders that are built in."`
	Events       eventsCommand       `cmd:"" help:"Look at events, and take them up again."`
	Conflicts    conflictsCommand    `cmd:"" help:"Look at contents that contradict their events, and decide."`
	Replays      replaysCommand      `cmd:"" help:"Look at bulk replays and erasures, and cancel them."`
	Operations   operationsCommand   `cmd:"" help:"Look at operations, and decide about them."`
	Destinations destinationsCommand `cmd:"" help:"Look at destinations, pause and resume them."`
	Audit        auditCommand        `cmd:"" help:"List what was changed, by whom and why, newest first."`
	Restored     restoredCommand     `cmd:"" help:"Mark a store as restored from a backup, so that what may have run since is held."`
	Version      versionCommand      `cmd:"" help:"Print the version."`
}

// The exit statuses.
const (
	exitDone  = 0
	exitNo    = 1
	exitUsage = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// usageError is a command line that cannot be meant.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func misuse(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exited is how a help flag leaves the parser, which goes on otherwise.
type exited int

// run is the program as a value: arguments in, output and status out.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (status int) {
	defer func() {
		switch left := recover().(type) {
		case nil:
		case exited:
			status = int(left)
		default:
			panic(left)
		}
	}()
	var c commands
	parser, err := kong.New(
		&c,
		kong.Name("onceward"),
		kong.Description("Every webhook has each of its effects once."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		panic("onceward: the command line is described wrongly: " + err.Error())
	}
	parsed, err := parser.Parse(args)
	if err == nil {
		err = parsed.Run(&app{stdout: stdout, stderr: stderr, json: c.Output == "json", api: client{base: c.Admin, token: c.Token}})
	}
	return exitStatus(err, stderr)
}

// exitStatus prints what went wrong, once, and says what that amounts to.
func exitStatus(err error, stderr io.Writer) int {
	if err == nil {
		return exitDone
	}
	_, _ = fmt.Fprintf(stderr, "onceward: %s\n", printable(err.Error())) // nowhere is left to report it
	var usage usageError
	var parse *kong.ParseError
	switch {
	case errors.As(err, &parse):
		_, _ = fmt.Fprintln(stderr, "onceward: --help says what there is")
		return exitUsage
	case errors.As(err, &usage):
		return exitUsage
	}
	return exitNo
}

// app is what a command that talks to the gateway works with.
type app struct {
	stdout, stderr io.Writer
	json           bool
	api            client
}
