package main

import (
	"context"
	"fmt"
	"go/ast"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maker lists the packages that make plans.
var maker = []string{"./runtime/planner", "./runtime/internal/deps", "./runtime/internal/sched", "./internal/base/memplan"}

// named is a mutant that is written by hand: in a file, the text new replaces the text old.
type named struct{ name, file, old, new string }

// byHand lists the mutants of the packages that make plans that are written by hand.
var byHand = []named{
	{"a fused task lacks the regions that its later parts only read", "group.go", "\t\t\ti, known := at[a.Root]\n",
		"\t\t\ti, known := at[a.Root]\n\t\t\tif !known && a.Perm == perm.Read && len(at) >= len(parts[0].Access) {\n\t\t\t\tcontinue\n\t\t\t}\n"},
	{"a fused task lacks the regions that its later parts write", "group.go", "\t\t\ti, known := at[a.Root]\n",
		"\t\t\ti, known := at[a.Root]\n\t\t\tif !known && a.Perm == perm.Write && len(at) >= len(parts[0].Access) {\n\t\t\t\tcontinue\n\t\t\t}\n"},
	{"a fused task only reads the regions that its later parts change", "group.go", "access[i].Perm = perm.ReadWrite", "access[i].Perm = perm.Read"},
}

// The classes of mutants of the packages that make plans. docs/mutants.md explains them.
const (
	unproved = "accepted, not proved"
	refused  = "refused"
	noPlan   = "no plan"
	harmless = "proved harmless"
	same     = "no effect on any plan"
)

// classes lists the classes, the worst first.
var classes = []string{unproved, refused, noPlan, harmless, same}

// runMaker judges the verifier by mutants of the packages that make plans. It returns the exit status.
func runMaker(ctx context.Context, o options, w io.Writer) (int, error) {
	sources, err := load(maker...)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	overlay := map[string]string{}
	var mutants []mutant
	for _, s := range sources {
		hand, err := s.byHand(byHand)
		if err != nil {
			return 0, err
		}
		chosen, err := s.choose(o.seed, math.MaxInt, s.all(o.only, true))
		if err != nil {
			return 0, err
		}
		if chosen = append(hand, chosen...); len(chosen) > 0 {
			maps.Copy(overlay, s.overlay(chosen, len(mutants)+1))
			mutants = append(mutants, chosen...)
		}
	}
	numbers := make([]int, len(mutants))
	for i := range numbers {
		numbers[i] = i + 1
	}
	if o.every > 1 {
		numbers = slices.DeleteFunc(numbers, func(n int) bool { return mutants[n-1].kind != "by hand" && n%o.every != 0 })
	}
	j, err := newMakerJudge(ctx, dir, overlay)
	if err != nil {
		return 0, err
	}
	verdicts := map[int]outcome{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	work := make(chan int)
	for range o.parallel {
		wg.Go(func() {
			for n := range work {
				v := j.judge(ctx, n)
				mu.Lock()
				verdicts[n] = v
				fmt.Fprintf(w, "%v: %s: %s\n", &mutants[n-1], v.class, v.detail)
				mu.Unlock()
			}
		})
	}
	for _, n := range numbers {
		select {
		case work <- n:
		case <-ctx.Done():
		}
	}
	close(work)
	wg.Wait()
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	return summarizeMaker(w, mutants, verdicts), nil
}

// byHand returns the mutants of the package that are written by hand.
func (s *source) byHand(list []named) ([]mutant, error) {
	var out []mutant
	for i := range s.files {
		f := &s.files[i]
		for _, h := range list {
			if filepath.Base(f.path) != h.file {
				continue
			}
			at := strings.Index(string(f.text), h.old)
			if at < 0 {
				return nil, fmt.Errorf("%s: want the text %q for the mutant %q, got none", f.path, h.old, h.name)
			}
			for _, d := range f.ast.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				lo, hi := s.pkg.Fset.Position(fn.Body.Lbrace).Offset+1, s.pkg.Fset.Position(fn.Body.End()).Offset
				if lo <= at && at < hi {
					body := string(f.text[lo:at]) + h.new + string(f.text[at+len(h.old):hi])
					line := s.pkg.Fset.Position(fn.Pos()).Line + strings.Count(string(f.text[lo:at]), "\n")
					out = append(out, mutant{"by hand", f, line, h.old, h.name, lo, body, fn.Type.Results != nil})
				}
			}
		}
	}
	return out, nil
}

// makerJudge makes plans with mutants.
type makerJudge struct {
	program string // the tests of package planner, with all mutants
	makings string // the file in which TestMaker stores the plans without a mutant
	seconds int    // of processor time that a run may take
}

// newMakerJudge compiles the tests of package planner with the overlay, and makes the plans without a mutant.
func newMakerJudge(ctx context.Context, dir string, overlay map[string]string) (*makerJudge, error) {
	file, err := writeOverlay(dir, overlay)
	if err != nil {
		return nil, err
	}
	j := &makerJudge{program: filepath.Join(dir, "planner.test"), makings: filepath.Join(dir, "makings.json"), seconds: 60}
	if out, err := command(ctx, "", 0, "go", "test", "-c", "-vet=off", "-overlay", file, "-o", j.program, maker[0]); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	out, took, err := j.run(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("want plans that are proved right without a mutant: %w\n%s", err, out)
	}
	// A run without a mutant proves all plans. With a mutant, it proves only those that differ.
	j.seconds = 2 + int(3*took.Seconds())
	return j, nil
}

// run makes the plans with mutant number n, and returns the output of TestMaker and the processor time that
// it took. Number 0 means no mutant. A run that does not come to an end is killed. What counts is processor
// time, on which other programs of the machine have little influence. A run that waits takes none, and gets
// 15 times the time.
func (j *makerJudge) run(ctx context.Context, n int) (string, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Duration(j.seconds)*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", `ulimit -t "$0"; exec "$@"`, strconv.Itoa(j.seconds), j.program, "-test.run", "^TestMaker$")
	c.Dir = maker[0]
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, n), "OPGEN_MAKINGS="+j.makings)
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		return "", 0, err // it did not start
	}
	return string(out), c.ProcessState.UserTime() + c.ProcessState.SystemTime(), err
}

// outcome is the class of a mutant, and one of the plans in this class.
type outcome struct{ class, detail string }

// judge makes all plans with mutant number n, and returns the worst class that a plan is in.
func (j *makerJudge) judge(ctx context.Context, n int) outcome {
	out, _, err := j.run(ctx, n)
	lines := map[string][]string{}
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, "maker: "); ok {
			what, detail, _ := strings.Cut(strings.TrimSpace(rest), ": ")
			lines[what] = append(lines[what], detail)
		}
	}
	ended := err == nil && lines["done"] != nil || strings.Contains(out, "maker: done")
	switch accepted := lines["accepted"]; {
	case len(lines["wrong"]) > 0:
		return outcome{unproved, lines["wrong"][0]}
	case len(accepted) > len(lines["proved"]):
		return outcome{unproved, accepted[len(accepted)-1] + ": its proof does not come to an end"}
	case len(lines["refused"]) > 0:
		return outcome{refused, fmt.Sprintf("%d plans, such as %s", len(lines["refused"]), lines["refused"][0])}
	case len(lines["none"]) > 0:
		return outcome{noPlan, lines["none"][0]}
	case !ended:
		if !strings.Contains(out, "fatal error:") {
			return outcome{noPlan, "the planner does not come to an end"}
		}
		return outcome{noPlan, "the planner ends with a fatal error"}
	case len(lines["proved"]) > 0:
		return outcome{harmless, fmt.Sprintf("%d plans, such as %s", len(lines["proved"]), lines["proved"][0])}
	}
	return outcome{same, ""}
}

// summarizeMaker counts the mutants of each class and kind, and returns the exit status.
func summarizeMaker(w io.Writer, mutants []mutant, verdicts map[int]outcome) int {
	count := map[string]map[string]int{}
	total := map[string]int{}
	for n, v := range verdicts {
		kind := mutants[n-1].kind
		if count[kind] == nil {
			count[kind] = map[string]int{}
		}
		count[kind][v.class]++
		total[v.class]++
	}
	fmt.Fprintf(w, "\n| kind | mutants |")
	for _, c := range classes {
		fmt.Fprintf(w, " %s |", c)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---:|", len(classes)+1))
	row := func(name string, of map[string]int) {
		all := 0
		for _, n := range of {
			all += n
		}
		fmt.Fprintf(w, "| %s | %d |", name, all)
		for _, c := range classes {
			fmt.Fprintf(w, " %d |", of[c])
		}
		fmt.Fprintln(w)
	}
	for _, kind := range slices.Sorted(maps.Keys(count)) {
		row(kind, count[kind])
	}
	row("all", total)
	if total[unproved] > 0 {
		fmt.Fprintln(w, "\naccepted, not proved:")
		for _, n := range slices.Sorted(maps.Keys(verdicts)) {
			if v := verdicts[n]; v.class == unproved {
				fmt.Fprintf(w, "  %v: %s\n", &mutants[n-1], v.detail)
			}
		}
		return 1
	}
	return 0
}
