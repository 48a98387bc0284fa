package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/onceward/onceward/internal/config"
	"github.com/onceward/onceward/internal/gateway"
)

// checkCommand says whether a configuration is valid and what it means.
type checkCommand struct {
	Config string `help:"Configuration file." short:"c" default:"onceward.yaml" placeholder:"FILE"`
	Schema bool   `help:"Print the JSON Schema of the configuration instead, for editors."`
}

type checkReport struct {
	Valid    bool                    `json:"valid"`
	Problems config.Problems         `json:"problems"`
	Warnings config.Problems         `json:"warnings"`
	Sources  []gateway.SourceMeaning `json:"sources"`
}

// errInvalid has been explained on the output already.
var errInvalid = errors.New("the configuration is not valid")

// Run checks the file. Nothing is opened and nobody is called.
func (k *checkCommand) Run(a *app) error {
	if k.Schema {
		_, err := a.stdout.Write(config.JSONSchema())
		return err
	}
	report := checkReport{Problems: config.Problems{}, Warnings: config.Problems{}, Sources: []gateway.SourceMeaning{}}
	c, err := config.Load(k.Config, os.LookupEnv)
	if err == nil {
		var warnings config.Problems
		report.Sources, warnings, err = gateway.Meaning(c)
		report.Warnings = append(report.Warnings, warnings...)
	}
	if err != nil && !errors.As(err, &report.Problems) {
		return err
	}
	report.Valid = err == nil
	if a.json {
		out := json.NewEncoder(a.stdout)
		out.SetIndent("", "  ")
		if err := out.Encode(report); err != nil {
			return err
		}
	} else if err := report.print(a); err != nil {
		return err
	}
	if !report.Valid {
		return errInvalid
	}
	return nil
}

func (r *checkReport) print(a *app) error {
	var b strings.Builder
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "%s\n", p)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, s := range r.Sources {
		fmt.Fprintf(&b, "\nsource %s: %s (contract revision %s, %s)\n", s.Name, s.Title, s.Revision, s.Confidence)
		for _, line := range s.Lines {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		for _, weak := range s.Weaknesses {
			fmt.Fprintf(&b, "  beware: %s\n", weak)
		}
	}
	if r.Valid {
		b.WriteString("\nvalid\n")
	}
	_, err := a.stdout.Write([]byte(printableLines(b.String())))
	return err
}
