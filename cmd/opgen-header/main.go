// Opgen-header is a plug-in of opgen. It writes a header in C with the numbers that code outside of Go shares
// with the generated packages: slots, tasks and values of enums. Kernels of an accelerator are such code.
//
// opgen.toml names it, and may set two options:
//
//	[[plugin]]
//	name    = "header"
//	command = ["go", "run", "github.com/opgen/opgen/cmd/opgen-header"]
//	out     = "include"
//	options = { file = "opgen.h", prefix = "OPGEN" }
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/opgen/opgen/generate/plugin"
)

func main() { plugin.Serve(header{}) }

// header implements plugin.Plugin.
type header struct{}

// named holds the fields that all named parts of the model have.
type named struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	Pos  string `json:"pos"`
}

type enum struct {
	named
	Values []named `json:"values"`
}

// module is the part of the model that the header shows.
type module struct {
	Operators []struct {
		named
		Attrs []struct {
			named
			Enum *struct {
				enum
				Package string `json:"package"` // of a shared enum
			} `json:"enum"`
		} `json:"attrs"`
		Slots []struct {
			named
			Number int `json:"number"`
		} `json:"slots"`
		Tasks []struct {
			named
			ID string `json:"id"` // 16 hexadecimal digits
		} `json:"tasks"`
	} `json:"operators"`
	Enums []enum `json:"enums"`
}

func (header) Generate(_ context.Context, r *plugin.Request) (*plugin.Response, error) {
	options := struct{ File, Prefix string }{"opgen.h", "OPGEN"}
	if err := json.Unmarshal(r.Options, &options); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	if notC.MatchString(options.Prefix) || options.Prefix == "" || options.Prefix[0] >= '0' && options.Prefix[0] <= '9' {
		return nil, fmt.Errorf("options: want a name of C as prefix, got %q", options.Prefix)
	}
	var m module
	if err := json.Unmarshal(r.Model, &m); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	w := &writer{prefix: options.Prefix, names: map[string]string{}}
	guard := w.name(options.File)
	w.printf("#ifndef %s\n#define %s\n\n#include <stdint.h>\n", guard, guard)
	for _, e := range m.Enums {
		w.enum(e, e.Name)
	}
	for _, o := range m.Operators {
		w.printf("\n/* %s, %s */\nenum {\n", o.Name, o.Pos)
		for _, s := range o.Slots {
			w.printf("\t%s = %d,\n", w.declare(s.Pos, o.Name, "slot", s.Name), s.Number)
		}
		w.printf("};\n")
		for _, t := range o.Tasks {
			w.printf("#define %s UINT64_C(0x%s)\n", w.declare(t.Pos, o.Name, "task", t.Name), t.ID)
		}
		for _, a := range o.Attrs {
			if a.Enum != nil && a.Enum.Package == "" {
				w.enum(a.Enum.enum, o.Name, a.Name)
			}
		}
	}
	w.printf("\n#endif\n")
	return &plugin.Response{Files: []plugin.File{{Path: options.File, Text: w.String()}}, Findings: w.findings}, nil
}

// writer collects the text of the header.
type writer struct {
	strings.Builder
	prefix   string
	names    map[string]string // the positions of declarations, by name in C
	findings []plugin.Finding
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(w, format, args...) }

// notC matches characters that names in C cannot have. Names of enum values may have them.
var notC = regexp.MustCompile(`[^A-Za-z0-9_]`)

// name returns a name in C.
func (w *writer) name(parts ...string) string {
	return w.prefix + "_" + strings.ToUpper(notC.ReplaceAllString(strings.Join(parts, "_"), "_"))
}

// declare returns a name in C. It adds a finding if another declaration has the name.
func (w *writer) declare(pos string, parts ...string) string {
	n := w.name(parts...)
	if other, taken := w.names[n]; taken {
		w.findings = append(w.findings, plugin.Finding{Pos: pos, Message: fmt.Sprintf("%s is also the name in C of what is at %s", n, other)})
	}
	w.names[n] = pos
	return n
}

// enum writes the values of an enum. An absent attribute is 0, so the first value is 1.
func (w *writer) enum(e enum, parts ...string) {
	w.printf("\nenum %s {\n", strings.ToLower(w.name(parts...)))
	for i, v := range e.Values {
		w.printf("\t%s = %d,\n", w.declare(v.Pos, append(parts[:len(parts):len(parts)], v.Name)...), i+1)
	}
	w.printf("};\n")
}
