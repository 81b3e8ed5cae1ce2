package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/opgen/opgen/internal/base/version"
	"github.com/opgen/opgen/internal/spec"
)

func (c *command) version() int {
	v := struct {
		Version  string `json:"version"`
		Revision string `json:"revision,omitempty"`
		Edition  int    `json:"edition"`
	}{Edition: spec.Edition}
	text := self()
	v.Version, v.Revision, _ = strings.Cut(text, " ")
	if c.format == "json" {
		return c.print(v, false)
	}
	fmt.Fprintf(c.stdout, "opgen %s, spec edition %d\n", text, v.Edition)
	return clean
}

// self returns the version of this program, as released does.
func self() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return released(info)
	}
	return version.Version
}

// released returns the version of a program: that of the module that a proxy served or, of a program built in
// a folder, the version that the code names, with the commit if Go notes it.
func released(info *debug.BuildInfo) string {
	main := info.Main
	if main.Replace == nil && main.Sum != "" {
		return strings.TrimPrefix(main.Version, "v")
	}
	text := version.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text
}
