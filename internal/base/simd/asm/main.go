// Asm writes the assembly of package simd, the declarations of its functions, and the tables that hold them.
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/opgen/opgen/internal/base/simd/approx"
)

//go:generate go run . ..

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: asm FOLDER, which gets the files, got %d arguments", len(os.Args)-1))
	}
	if err := write(os.Args[1]); err != nil {
		fail(err)
	}
}

// write makes the files of all sets in a folder.
func write(folder string) error {
	for _, s := range []*set{{name: "avx2", title: "AVX2", bytes: 32}, {name: "avx512", title: "AVX512", bytes: 64}} {
		if err := s.write(folder); err != nil {
			return err
		}
	}
	return writeNEON(folder)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "asm:", err)
	os.Exit(1)
}

// write makes the files of a set in a folder.
func (s *set) write(folder string) error {
	s.Context, s.at = build.NewContext(), map[constant]int{}
	s.ConstraintExpr("amd64")
	single, double := machine{set: s, Constants: &approx.Single}, machine{set: s, Constants: &approx.Double, double: true}
	for _, m := range []*machine{&single, &double} {
		m.unaries()
		m.binaries()
		m.combinations()
		m.folds()
		m.gathers()
		m.tiles()
		m.thin()
		m.moves()
		m.sumAt()
		m.minimal()
	}
	s.conversions()
	s.fetch()
	s.streams()
	s.below()
	s.draws()
	s.units()
	s.normals()
	double.longPow()
	s.writePool()
	if !s.wide() {
		s.writeTails()
	}
	file, err := s.Result()
	if err != nil {
		return err
	}
	for _, f := range file.Functions() {
		if err := pass.Compile.Execute(&ir.File{Sections: []ir.Section{f}}); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		if err := s.check(f); err != nil {
			return err
		}
	}
	if err := pass.IncludeTextFlagHeader(file); err != nil {
		return err
	}
	config := printer.Config{Name: "internal/base/simd/asm", Pkg: "simd"}
	code, err := printer.NewGoAsm(config).Print(file)
	if err != nil {
		return err
	}
	stubs, err := printer.NewStubs(config).Print(file)
	if err != nil {
		return err
	}
	if stubs, err = format.Source(append(stubs, s.tables()...)); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, s.name+"_amd64.s"), code, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, s.name+"_amd64.go"), stubs, 0o644)
}

// tables returns the functions that enter the functions of a set into tables.
func (s *set) tables() []byte {
	var out bytes.Buffer
	for i, size := range []int{32, 64} {
		fmt.Fprintf(&out, "\n// table%d%s returns the functions of a table with those of this set.\n", size, s.title)
		fmt.Fprintf(&out, "func table%d%s() *table[float%d] {\n\tt := portable[float%d]()\n\t%s\n\treturn t\n}\n",
			size, s.title, size, size, strings.Join(s.entries[i], "\n\t"))
	}
	return out.Bytes()
}
