package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionCommand struct{}

// Run is called by the parser.
func (*versionCommand) Run(a *app) error {
	version, revision := buildVersion()
	if a.json {
		return printJSON(a.stdout, map[string]string{"version": version, "revision": revision, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH})
	}
	_, err := fmt.Fprintf(a.stdout, "onceward %s %s %s %s/%s\n", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// buildVersion is what the build recorded about itself: the module's version,
// and the revision of the source with a + when it was changed.
func buildVersion() (version, revision string) {
	version, revision = "devel", "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, revision
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		version = v
	}
	changed := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(len(s.Value), 12)]
		case "vcs.modified":
			if s.Value == "true" {
				changed = "+"
			}
		}
	}
	return version, revision + changed
}

// versionText is the version in one word, for logs and the API.
func versionText() string {
	version, _ := buildVersion()
	return version
}
