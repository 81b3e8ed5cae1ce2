package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/internal/version"
)

func (c *command) version() int {
	v := struct {
		Version  string `json:"version"`
		Revision string `json:"revision,omitempty"`
		Edition  int    `json:"edition"`
	}{Version: version.Version, Edition: spec.Edition}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Revision = s.Value
			}
		}
	}
	if c.format == "json" {
		return c.print(v, false)
	}
	fmt.Fprintf(c.stdout, "opgen %s, spec edition %d\n", strings.TrimSpace(v.Version+" "+v.Revision), v.Edition)
	return clean
}
