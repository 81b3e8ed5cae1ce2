package kernels_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/dtype"
)

var update = flag.Bool("update", false, "rewrite docs/tests.md")

// kit applies every operator of the catalogue as the examples of its spec say.
var kit = func() *optest.Kit {
	k, err := optest.New(catalogue.Register, catalogue.Operators())
	if err != nil {
		panic(err)
	}
	return k
}()

// TestMain runs the tests. If all of them ran and passed, it checks that they ran every task of the catalogue
// with every choice of element types, and that docs/tests.md is up to date. With -short, some tests run few
// of them.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	all := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == "" && flag.Lookup("test.list").Value.String() == ""
	if code == 0 && all && !testing.Short() {
		if problems := slices.Concat(kit.Gaps(), document()); len(problems) > 0 {
			fmt.Println(strings.Join(problems, "\n"))
			code = 1
		}
	}
	os.Exit(code)
}

// columns lists the checks that have a column in docs/tests.md. The others compare what only some tasks have.
func columns() []optest.Check {
	return slices.DeleteFunc(optest.Checks(), func(c optest.Check) bool {
		return slices.Contains([]string{"KernelsComputeFormulas", "Sharding", "SameTensorTwice", "EveryGradientIsCompared", "Dimensions"}, c.Name)
	})
}

// document compares docs/tests.md with the record of what ran. With -update it rewrites the page instead.
func document() []string {
	var b strings.Builder
	b.WriteString(`# Tests of the catalogue

The checks below apply every operator of the catalogue as the examples of its spec say, with every choice of
element types for which it has kernels. They check what must hold for all operators. When the engine binds a
task, the test records the task and its element types. The table shows these records.
` + "`make coverage-table`" + ` runs the tests, rewrites this page and prints it. The tests fail if

- a column marked with a star lacks a task, or a choice of its element types,
- no check compares the gradients of a backward task with differences or, in f32, with f64,
- a task that allows tensors of 16 bits does not run with them, or
- this page is out of date.

What the columns check:

`)
	for _, c := range columns() {
		star := ""
		if c.Needed != nil {
			star = "\\*"
		}
		fmt.Fprintf(&b, "- **%s**%s (%s): %s\n", c.Short, star, "Test"+c.Name, c.Doc)
	}
	b.WriteString(`
In the columns without a star, a dash has one of these reasons:

- The spec declares nothing of the kind.
- The conditions of the spec refuse such extents.
- The plan leaves the task out, as it has nothing to do.
- There is nothing to differentiate.

Kernels get contiguous tensors only. The lanes of a tensor along a dimension need not be contiguous.

A cell lists the element types of the operator's dtype variables. "all" stands for all choices in the second
column.

| task | element types |`)
	for _, c := range columns() {
		fmt.Fprintf(&b, " %s |", c.Short)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(columns())) + "\n")
	for _, t := range kit.Tasks() {
		var all []string
		for _, v := range t.Variants {
			all = append(all, dtype.Format(v.Types))
		}
		fmt.Fprintf(&b, "| %s | %s |", t.Signature.Name(), list(all))
		for _, c := range columns() {
			fmt.Fprintf(&b, " %s |", cell(all, kit.Ran(c.Name, t.ID)))
		}
		b.WriteByte('\n')
	}
	const file = "../docs/tests.md"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			return []string{err.Error()}
		}
		return nil
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != b.String() {
		return []string{file + " is out of date; run go test ./kernels -update"}
	}
	return nil
}

// cell lists the element types with which a task ran. It writes "all" for all choices of the catalogue.
func cell(all, ran []string) string {
	var rest []string
	full := len(ran) > 0 && !slices.ContainsFunc(all, func(s string) bool { return !slices.Contains(ran, s) })
	for _, s := range ran {
		if !full || !slices.Contains(all, s) {
			rest = append(rest, s)
		}
	}
	if full {
		rest = append([]string{"all"}, rest...)
	}
	return list(rest)
}

// list joins choices of element types. A task without dtype variables has one choice, which is empty.
func list(choices []string) string {
	if len(choices) == 0 {
		return "-"
	}
	var out []string
	for _, c := range choices {
		if c == "" {
			c = "one"
		}
		out = append(out, strings.ReplaceAll(c, ", ", "/"))
	}
	return strings.Join(out, " ")
}
