// Command sbom prints the bill of materials of a Go program in the format CycloneDX: the modules that it was
// built from, as Go notes them in the program.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

type bill struct {
	Format     string      `json:"bomFormat"`
	Version    string      `json:"specVersion"`
	Revision   int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Package    string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(2)
	}
}

// write writes the bill of materials of a program.
func write(w io.Writer, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	b := bill{Format: "CycloneDX", Version: "1.6", Revision: 1, Metadata: metadata{of("application", &info.Main)}}
	b.Components = append(b.Components, component{Type: "library", Name: "std", Version: info.GoVersion, Package: "pkg:golang/std@" + info.GoVersion})
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, of("library", m))
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(b)
}

// of returns a module as a component. Its sum is that of go.sum.
func of(kind string, m *debug.Module) component {
	c := component{Type: kind, Name: m.Path, Version: m.Version, Package: "pkg:golang/" + m.Path + "@" + m.Version}
	if m.Sum != "" {
		c.Properties = []property{{"go.sum", m.Sum}}
	}
	return c
}
