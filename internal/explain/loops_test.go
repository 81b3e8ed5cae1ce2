package explain_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/explain"
)

var update = flag.Bool("update", false, "rewrite testdata/loops.txt")

// The loops of the catalogue at all examples run no more than this outside of machine code. The numbers may
// only fall: who makes one smaller writes it here. What ran one by one may become several instructions
// outside of compiled loops.
var most = struct {
	outside     int // instructions that no compiled loop can hold
	numbers     int // units and instructions that compute elements one by one
	interpreted int // tasks without loops
}{1590, 248, 0}

// TestLoops compares the loops of all operators of the catalogue at their first examples with
// testdata/loops.txt, so that a change of a pass shows what it changes everywhere. The listing is the same
// for all processors. With -update, the test writes it. It also counts at all examples what runs outside of
// machine code.
func TestLoops(t *testing.T) {
	p, err := driver.Load(root)
	if err != nil || p.Module() == nil {
		t.Fatal(err, p.Findings.Sorted())
	}
	var b bytes.Buffer
	var all formula.Counts
	interpreted, operators := 0, 0
	for _, o := range p.Module().Operators {
		if !o.Derived {
			continue
		}
		operators++
		fmt.Fprintf(&b, "== %s\n", o.Name)
		n, without, err := explain.Loops(&b, o, 1, true)
		if err != nil {
			t.Fatal(err)
		}
		all.Add(n)
		interpreted += without
	}
	t.Logf("%d operators: %s", operators, explain.Summary(all, interpreted))
	if operators < 100 {
		t.Errorf("%d operators have loops", operators)
	}
	for _, c := range []struct {
		what      string
		got, most int
	}{
		{"instructions that no compiled loop can hold", all.Outside, most.outside},
		{"units and instructions one by one", all.Numbers, most.numbers},
		{"tasks by the interpreter", interpreted, most.interpreted},
	} {
		if c.got > c.most {
			t.Errorf("%d %s, want at most %d", c.got, c.what, c.most)
		}
		if c.got < c.most {
			t.Errorf("%d %s: fewer than %d, which loops_test.go has to say", c.got, c.what, c.most)
		}
	}
	name := filepath.Join("testdata", "loops.txt")
	if *update {
		if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	got, wanted := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	operator := ""
	for i, line := range got {
		if strings.HasPrefix(line, "== ") {
			operator = line[3:]
		}
		if i >= len(wanted) || line != wanted[i] {
			t.Fatalf("%s:%d: the loops of %s differ; run go test ./internal/explain -update and read the difference:\n%s", name, i+1, operator, line)
		}
	}
	if len(wanted) > len(got) {
		t.Errorf("%s has %d more lines", name, len(wanted)-len(got))
	}
}
