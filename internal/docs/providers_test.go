package docs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/provider"
)

func TestTheSendersAreThoseOfThePackage(t *testing.T) {
	var table, each strings.Builder
	table.WriteString("| provider | sender | confidence | identity | signed | sends again for | memory |\n|---|---|---|---|---|---|---|\n")
	for _, c := range provider.Contracts() {
		fmt.Fprintf(&table, "| [%s](#%s) | %s | %s | %s | %s | %s | %s |\n", c.Name, c.Name, c.Title, confidence(c), identity(c.ID), yes(c.IDSigned), period(c.RetryHorizon), period(c.Memory))
		fmt.Fprintf(&each, "### %s\n\n%s. Revision %s, %s.\n\n", c.Name, c.Title, c.Revision, confidence(c))
		item := func(name, value string) {
			if value != "" {
				fmt.Fprintf(&each, "- **%s:** %s\n", name, value)
			}
		}
		item("Signature", signature(c))
		item("Rotation", c.Rotation)
		item("Read from", c.Reads)
		item("Batch", quoted(c.Items))
		ids := identity(c.ID)
		for _, other := range c.OtherIDs {
			ids += ", or else " + identity(other)
		}
		if len(c.FormID) > 0 {
			ids += "; of forms " + identity(c.FormID)
		}
		item("Identity", ids+", within "+c.Scope+": "+c.IDNote)
		for _, f := range []struct{ name, value string }{{"Type", c.Type}, {"Occurred at", c.OccurredAt}, {"Version", c.Version}, {"Account", c.Account}, {"Live or test", c.Mode}} {
			item(f.name, quoted(f.value))
		}
		item("Handshake", c.Handshake)
		item("Deadline", period(c.Deadline))
		item("Sends again on", c.RetryOn)
		item("Gives up on", c.StopOn)
		item("Stops sending on", c.Unsubs)
		item("Sends again for", period(c.RetryHorizon))
		item("Can be sent again by hand within", period(c.ManualWindow))
		item("Recommended memory", period(c.Memory))
		item("Differs between copies", quoted(strings.Join(c.Volatile, ", ")))
		for _, w := range c.Weaknesses() {
			item("Beware", w)
		}
		item("Sources", strings.Join(c.SourceDocs, "; "))
		each.WriteString("\n")
	}
	section(t, "providers.md", "table", table.String())
	section(t, "providers.md", "contracts", each.String())
}

func confidence(c provider.Contract) string {
	if c.Confidence == "from-memory" {
		return "preview"
	}
	return c.Confidence
}

func signature(c provider.Contract) string {
	text := "`" + c.Scheme + "`"
	if len(c.Headers) > 0 {
		text += " in `" + strings.Join(c.Headers, "`, `") + "`"
	}
	if s := c.Signature; s.Header != "" {
		algorithm := s.Algorithm
		if algorithm == "" {
			algorithm = "sha256"
		}
		content := s.Content
		if content == "" {
			content = "{body}"
		}
		text += ", HMAC-" + strings.ToUpper(algorithm) + " of `" + content + "`"
	}
	if c.Tolerance > 0 {
		text += ", not older than " + c.Tolerance.String()
	}
	return text
}

func identity(parts []string) string {
	if len(parts) == 0 {
		return "configured"
	}
	return "`" + strings.Join(parts, "` + `") + "`"
}

func quoted(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(text, "|", "` or `") + "`"
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func period(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d%(24*time.Hour) == 0:
		return fmt.Sprintf("%d d", d/(24*time.Hour))
	}
	return d.String()
}
