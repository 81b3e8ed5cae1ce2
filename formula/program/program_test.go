package program_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/internal/golden"
	"github.com/opgen/opgen/formula/program"
)

// TestPrograms builds the programs of uses: names, ranks and attributes are settled, and helpers inlined.
func TestPrograms(t *testing.T) {
	golden.Test(t, "testdata/programs.txt", func(u *program.Use) (string, error) {
		p, err := program.Build(u)
		if err != nil {
			return "", err
		}
		return statements(p.Statements), nil
	})
}

// TestOpen builds programs in which extents and integer attributes stay symbols.
func TestOpen(t *testing.T) {
	golden.Test(t, "testdata/open.txt", func(u *program.Use) (string, error) {
		u.Open = true
		p, err := program.Build(u)
		if err != nil {
			return "", err
		}
		return statements(p.Statements), nil
	})
}

func statements(list []*program.Statement) string {
	var out strings.Builder
	for _, s := range list {
		fmt.Fprintln(&out, s)
	}
	return out.String()
}
