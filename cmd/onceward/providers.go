package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/onceward/onceward/provider"
)

type providersCommand struct {
	List providersListCommand `cmd:"" default:"1" help:"List the senders that are built in."`
	Show providersShowCommand `cmd:"" help:"Show one sender's contract: what it signs, what identifies an event, how it retries."`
}

type providersListCommand struct{}

// Run prints one line a sender.
func (providersListCommand) Run(a *app) error {
	if a.json {
		return printContracts(a, provider.Contracts())
	}
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSENDER\tSIGNATURE\tIDENTITY\tSIGNED ID\tMEMORY")
	for _, c := range provider.Contracts() {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", c.Name, c.Title, orDash(c.Scheme), orDash(strings.Join(c.ID, " + ")), yesNo(c.IDSigned), span(c.Memory))
	}
	return table.Flush()
}

type providersShowCommand struct {
	Name string `arg:"" help:"Name of the provider."`
}

// Run prints a sender's whole contract.
func (p *providersShowCommand) Run(a *app) error {
	c, ok := provider.Find(p.Name)
	if !ok {
		return fmt.Errorf("there is no provider %q; onceward providers list prints those there are", p.Name)
	}
	if a.json {
		return printContracts(a, []provider.Contract{c})
	}
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			line(&b, "%-15s %s", name, value)
		}
	}
	line(&b, "%s (%s)", c.Title, c.Name)
	row("revision", c.Revision+", "+c.Confidence)
	row("signature", c.Scheme)
	row("headers", strings.Join(c.Headers, ", "))
	if c.Tolerance > 0 {
		row("tolerance", c.Tolerance.String())
	}
	row("rotation", c.Rotation)
	row("reads", c.Reads)
	row("batch", c.Items)
	row("identity", strings.Join(c.ID, " + "))
	for _, other := range c.OtherIDs {
		row("or else", strings.Join(other, " + "))
	}
	row("of forms", strings.Join(c.FormID, " + "))
	row("level trigger", map[bool]string{true: "yes: an unchanged copy runs again, bursts merge"}[c.Level])
	row("unique within", c.Scope)
	row("id is signed", yesNo(c.IDSigned))
	row("because", c.IDNote)
	row("type", c.Type)
	row("occurred at", c.OccurredAt)
	row("version", c.Version)
	row("account", c.Account)
	row("live or test", c.Mode)
	row("handshake", c.Handshake)
	if c.Deadline > 0 {
		row("deadline", c.Deadline.String())
	}
	row("wants to hear", strings.TrimSpace(fmt.Sprintf("%d %s", c.Success.Status, c.Success.ContentType)))
	row("sends again on", c.RetryOn)
	row("gives up on", c.StopOn)
	row("unsubscribes on", c.Unsubs)
	row("retries for", span(c.RetryHorizon))
	row("resend within", span(c.ManualWindow))
	row("memory", span(c.Memory))
	row("volatile", strings.Join(c.Volatile, ", "))
	if c.MaxBody > 0 {
		row("largest body", fmt.Sprintf("%d bytes", c.MaxBody))
	}
	row("sources", strings.Join(c.SourceDocs, "; "))
	for _, w := range c.Weaknesses() {
		row("beware", w)
	}
	_, err := io.WriteString(a.stdout, b.String())
	return err
}

// contractShape is a contract in JSON; durations are in seconds.
type contractShape struct {
	Name         string     `json:"name"`
	Title        string     `json:"title"`
	Revision     string     `json:"revision"`
	Category     string     `json:"category"`
	Confidence   string     `json:"confidence"`
	Sources      []string   `json:"sources"`
	Scheme       string     `json:"scheme"`
	Headers      []string   `json:"headers"`
	Tolerance    float64    `json:"tolerance_seconds"`
	Rotation     string     `json:"rotation"`
	Reads        string     `json:"reads"`
	Items        string     `json:"items"`
	ID           []string   `json:"id"`
	OtherIDs     [][]string `json:"other_ids"`
	Level        bool       `json:"level_trigger"`
	Scope        string     `json:"scope"`
	IDSigned     bool       `json:"id_signed"`
	Type         string     `json:"type"`
	OccurredAt   string     `json:"occurred_at"`
	Version      string     `json:"version"`
	Account      string     `json:"account"`
	Mode         string     `json:"mode"`
	Handshake    string     `json:"handshake"`
	Success      int        `json:"success_status"`
	RetryOn      string     `json:"retries_on"`
	StopOn       string     `json:"gives_up_on"`
	Unsubs       string     `json:"unsubscribes_on"`
	Deadline     float64    `json:"deadline_seconds"`
	RetryHorizon float64    `json:"retry_horizon_seconds"`
	ManualWindow float64    `json:"manual_window_seconds"`
	Memory       float64    `json:"memory_seconds"`
	Volatile     []string   `json:"volatile"`
	MaxBody      int64      `json:"max_body"`
	Weaknesses   []string   `json:"weaknesses"`
}

func printContracts(a *app, contracts []provider.Contract) error {
	shapes := make([]contractShape, len(contracts))
	for i, c := range contracts {
		shapes[i] = contractShape{
			c.Name, c.Title, c.Revision, c.Category, c.Confidence, c.SourceDocs, c.Scheme, c.Headers, c.Tolerance.Seconds(),
			c.Rotation, c.Reads, c.Items, c.ID, c.OtherIDs, c.Level, c.Scope, c.IDSigned, c.Type, c.OccurredAt, c.Version, c.Account, c.Mode,
			c.Handshake, c.Success.Status, c.RetryOn, c.StopOn, c.Unsubs, c.Deadline.Seconds(),
			c.RetryHorizon.Seconds(), c.ManualWindow.Seconds(), c.Memory.Seconds(), c.Volatile, c.MaxBody, c.Weaknesses(),
		}
	}
	out := json.NewEncoder(a.stdout)
	out.SetIndent("", "  ")
	return out.Encode(map[string]any{"items": shapes, "next": ""})
}
