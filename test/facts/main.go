// Command facts changes the facts that specs of the catalogue state, or that follow from their formulas, one
// at a time. Each change must be found, unless docs/mutants.md says why it changes nothing that is wrong.
//
// Usage:
//
//	go run ./test/facts [-count N] [-seed N]
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/choice"
	"github.com/opgen/opgen/internal/parallel"
	"github.com/opgen/opgen/internal/printer"
)

func main() {
	count := flag.Int("count", 100, "how many facts are changed; 0: all")
	seed := flag.Uint64("seed", 1, "which facts are changed")
	only := flag.String("only", "", "changes whose names contain this")
	flag.Parse()
	out := printer.New(os.Stdout)
	if err := errors.Join(run(out, *count, *seed, *only), out.Err()); err != nil {
		fmt.Fprintln(os.Stderr, "facts:", err)
		os.Exit(1)
	}
}

// run changes facts and prints what found the changes. It returns an error if nothing finds a change that is
// not named.
func run(w io.Writer, count int, seed uint64, only string) error {
	j, err := newJudge(".")
	if err != nil {
		return err
	}
	defer os.RemoveAll(j.dir)
	all := slices.DeleteFunc(j.changes(), func(c change) bool { return !strings.Contains(c.name, only) })
	named, err := harmless(j.config.Root)
	if err != nil {
		return err
	}
	found := map[string]map[string]int{}
	var unnoticed []string
	chosen := choice.InTurn(seed, count, all, func(c change) string { return c.kind })
	verdicts := make([]verdict, len(chosen))
	// The go command and the linker use one processor for most of their time, so changes are judged side by
	// side.
	parallel.Do(len(chosen), func(i int) { verdicts[i] = j.judge(i, chosen[i]) })
	for i, c := range chosen {
		by, detail := verdicts[i].by, verdicts[i].detail
		switch {
		case verdicts[i].err != nil:
			return fmt.Errorf("%s: %w", c.name, verdicts[i].err)
		case by != nothing:
		case c.less:
			by = claimsLess
		case c.alone:
			by = specAlone
		case named[c.name]:
			by = isNamed
		default:
			unnoticed = append(unnoticed, c.name)
		}
		fmt.Fprintf(w, "%-14s %s\n", by, cmp.Or(c.name+", "+detail, c.name))
		for _, k := range []string{c.kind, "~all"} { // ~ is behind all letters
			if found[k] == nil {
				found[k] = map[string]int{}
			}
			found[k][by]++
		}
	}
	fmt.Fprint(w, summary(found))
	if len(unnoticed) > 0 {
		return fmt.Errorf("want facts whose changes are found, or are named in docs/mutants.md, got\n%s", strings.Join(unnoticed, "\n"))
	}
	return nil
}

// What may find a change.
const (
	byCheck    = "opgen check"
	byCompiler = "the compiler"
	byTests    = "tests"
	claimsLess = "claims less" // found by nothing, and not wrong
	specAlone  = "spec alone"  // found by nothing, since nothing else says it
	isNamed    = "named"       // in docs/mutants.md
	nothing    = "nothing"
)

// summary counts the changes of each kind by what found them, as a table.
func summary(found map[string]map[string]int) string {
	columns := []string{byCheck, byCompiler, byTests, claimsLess, specAlone, isNamed, nothing}
	var b strings.Builder
	fmt.Fprintf(&b, "\n| fact | changes | %s |\n|---|---:|%s\n", strings.Join(columns, " | "), strings.Repeat("---:|", len(columns)))
	for _, k := range slices.Sorted(maps.Keys(found)) {
		total, row := 0, ""
		for _, c := range columns {
			total += found[k][c]
			row += fmt.Sprintf(" %d |", found[k][c])
		}
		fmt.Fprintf(&b, "| %s | %d |%s\n", strings.TrimPrefix(k, "~"), total, row)
	}
	return b.String()
}

// harmless reads the names of changes that are not wrong from docs/mutants.md: lines that begin with four
// spaces.
func harmless(root string) (map[string]bool, error) {
	data, err := os.ReadFile(root + "/docs/mutants.md")
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	_, section, _ := strings.Cut(string(data), "\n## Mutants of facts\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		if name, ok := strings.CutPrefix(line, "    "); ok {
			out[strings.TrimSpace(name)] = true
		}
	}
	return out, nil
}
