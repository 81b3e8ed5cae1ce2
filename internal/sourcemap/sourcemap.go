// Package sourcemap says from which line of a spec each declaration of a generated package comes. The package of an
// operator or enum has one map, a file of TOML beside its code, with the checksums of the spec and of the files for which
// it holds.
package sourcemap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// Name is the name of the file in the folder of a generated package.
const Name = "map.toml"

// Map is the map of a package.
type Map struct {
	Spec  string `toml:"spec"` // its path, relative to the module's root, with slashes
	Sum   string `toml:"sum"`  // of the spec
	Files []File `toml:"files"`
}

// File is a generated file.
type File struct {
	Name  string `toml:"name"`
	Sum   string `toml:"sum"`
	Decls []Decl `toml:"decls"` // by line
}

// Decl is a declaration: Forward, or Forward.Input for a field or method. In the map it is written as its line, the line
// of the spec and its name.
type Decl struct {
	Name           string
	Line, SpecLine int
}

// UnmarshalText reads what Format writes.
func (d *Decl) UnmarshalText(text []byte) error {
	_, err := fmt.Sscan(string(text), &d.Line, &d.SpecLine, &d.Name)
	return err
}

// Format returns the map as TOML.
func (m *Map) Format() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "\nspec = %q\nsum = %q\n", m.Spec, m.Sum)
	for _, f := range m.Files {
		fmt.Fprintf(&b, "\n[[files]]\nname = %q\nsum = %q\ndecls = [\n", f.Name, f.Sum)
		for _, d := range f.Decls {
			fmt.Fprintf(&b, "  \"%d %d %s\",\n", d.Line, d.SpecLine, d.Name)
		}
		b.WriteString("]\n")
	}
	return []byte(b.String())
}

// Parse reads a map.
func Parse(data []byte) (*Map, error) {
	m := new(Map)
	_, err := toml.Decode(string(data), m)
	return m, err
}

// Sum returns the checksum of a text. It does not depend on the line ends, which Git may change.
func Sum(data []byte) string {
	sum := sha256.Sum256(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
	return hex.EncodeToString(sum[:16])
}

// At returns the declaration of a file in which a line stands: the last one that begins there or before; nil if there is
// none.
func (f *File) At(line int) *Decl {
	var found *Decl
	for i := range f.Decls {
		if d := &f.Decls[i]; d.Line <= line {
			found = d
		}
	}
	return found
}

// From returns the declarations that come from a line of the spec, by file, and that line: if nothing comes from the line
// itself, it is the last one before from which something does; 0 if there is none.
func (m *Map) From(line int) (decls map[string][]Decl, from int) {
	for _, f := range m.Files {
		for _, d := range f.Decls {
			if d.SpecLine <= line {
				from = max(from, d.SpecLine)
			}
		}
	}
	decls = map[string][]Decl{}
	for _, f := range m.Files {
		for _, d := range f.Decls {
			if d.SpecLine == from {
				decls[f.Name] = append(decls[f.Name], d)
			}
		}
	}
	return decls, from
}
