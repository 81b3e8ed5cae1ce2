package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// fault is a mistake that a compiler of formulas may have: in a file, the text new takes the place of the
// text old, which is there once.
type fault struct{ name, file, old, new string }

// faults lists mistakes, each of which the judge must find.
var faults = []fault{
	// Programs.
	{"the end of a range is not cut to the dimension", "formula/program/value.go", "term.Greatest(lo, term.Number(0)), term.Least(hi, v.node)", "term.Greatest(lo, term.Number(0)), hi"},
	{"the begin of a range is not cut to the dimension", "formula/program/value.go", "term.Greatest(lo, term.Number(0)), term.Least(hi, v.node)", "lo, term.Least(hi, v.node)"},
	{"greater is taken for greater or equal", "formula/program/value.go", "b.comparison(term.Less, y, x)}", "b.comparison(term.AtMost, y, x)}"},
	{"a quotient is rounded up to too much", "formula/program/call.go", "term.Arithmetic(term.Add, x[0], x[1]), term.Number(1))", "term.Arithmetic(term.Add, x[0], x[1]), term.Number(0))"},
	{"a value is taken for another one beyond its range", "formula/program/recognize.go", "return 0 <= at && at < hi", "return 0 <= at && at <= hi"},
	{"the condition of a reduction that never holds is dropped", "formula/program/reduce.go", "if holds, known := r.Guard.Truth(); known && holds {", "if _, known := r.Guard.Truth(); known {"},
	// Terms.
	{"the second of two conditions is dropped", "formula/term/algebra.go", "return append(Conjuncts(c.Args[0]), Conjuncts(c.Args[1])...)", "return Conjuncts(c.Args[0])"},
	{"a scan leaves out the present index", "formula/term/scan.go", "return nil, next(y), nil", "return nil, y, nil"},
	{"a scan takes the present index too much", "formula/term/scan.go", "return next(x), nil, nil", "return x, nil, nil"},
	{"a range that shrinks is taken for one that grows", "formula/term/scan.go", "return known && k > 0", "return known && k != 0"},
	// Gradients.
	{"the slope of a cosine has the wrong sign", "formula/term/function.go", `return Opposite(Applied("sin", x))`, `return Applied("sin", x)`},
	{"a norm is that of the greatest element", "formula/program/written.go", "squares.Kind, squares.Body = reduction.Sum, square", "squares.Kind, squares.Body = reduction.Max, square"},
	{"the branch that a condition excludes has a gradient", "formula/derive/walk.go", "term.All(guard, term.Negated(x)))", "guard)"},
	{"each of several equal extremes has all of the gradient", "formula/derive/extreme.go", "return d.walk(r.Body, term.Ratio(g, ties), inner,", "_ = ties\n\treturn d.walk(r.Body, g, inner,"},
	{"a bound of an index is widened", "formula/derive/simplify.go", "w.Hi = term.Least(v.Hi, hi)", "w.Hi = hi"},
	{"a variance has half of its gradient", "formula/derive/walk.go", "term.Product(term.Product(term.Number(2), g), term.Difference(body, mean))", "term.Product(g, term.Difference(body, mean))"},
	{"a quotient's gradient has the wrong sign", "formula/derive/walk.go", "return each(x, g, y, term.Opposite(g))", "return each(x, g, y, g)"},
	// Loops.
	{"values of an index are thought to end before the last one", "formula/internal/rewrite/interval.go", "i := algebra.Interval{Lo: lo.Lo, Hi: hi.Hi - 1,", "i := algebra.Interval{Lo: lo.Lo, Hi: hi.Hi - 2,"},
	{"a histogram's condition has the index of another element", "formula/internal/rewrite/bucket.go", "out.Guard = assign(term.All(rest...), to)", "out.Guard = nil"},
	{"the extreme of nothing is 0 in histograms", "formula/internal/rewrite/bucket.go", "return term.RealNumber(kind.Identity())", "return term.RealNumber(max(kind.Identity(), 0))"},
	{"products begin at 0", "formula/reduction/reduction.go", `times, 1, 1, 1}`, `times, 0, 0, 1}`},
	{"an order gives too few places", "formula/internal/loops/order.go", "u.first = b.Hi + 1", "u.first = b.Hi"},
	{"long strips lose their last element", "formula/internal/loops/column.go", "u.column(s, min(stripLength, b-i))", "u.column(s, min(stripLength-1, b-i))"},
}

// shareOfCI is how many formulas continuous integration judges where it has the time.
const shareOfCI = 2000

// findFaults builds a judge with each fault whose name begins with a text and whose number leaves a rest when
// it is divided by every. It reports which of them it finds within CI's share of formulas. Each processor
// builds and searches.
func findFaults(seed uint64, only string, every, rest uint, w io.Writer) error {
	dir, err := os.MkdirTemp("", "judge")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	next := make(chan int)
	var mu sync.Mutex
	var errs []error
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				text, err := faults[i].look(seed, filepath.Join(dir, fmt.Sprint(i)), exe)
				mu.Lock()
				fmt.Fprintln(w, text)
				if err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", faults[i].name, err))
				}
				mu.Unlock()
			}
		})
	}
	chosen := 0
	for i, f := range faults {
		if strings.HasPrefix(f.name, only) && uint(i)%every == rest%every {
			next <- i
			chosen++
		}
	}
	close(next)
	group.Wait()
	fmt.Fprintf(w, "%d of %d faults were found\n", chosen-len(errs), chosen)
	return errors.Join(errs...)
}

// look builds a judge with the fault in a folder, and looks for a formula that it finds wrong. It is an error
// if there is none.
func (f fault) look(seed uint64, dir, exe string) (text string, err error) {
	began := time.Now()
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "judge")
	if err := f.build(dir, program); err != nil {
		return "", err
	}
	built := time.Since(began)
	number, v, err := f.find(seed, program, exe)
	if err == nil && v == nil {
		err = fmt.Errorf("none of %d formulas is wrong", shareOfCI)
	}
	if err != nil {
		return "MISSED  " + f.name, err
	}
	return fmt.Sprintf("found   %s: formula %d, %s: %s (%.0f s, of which %.0f s to build)", f.name, number, v.Status, v.Message, time.Since(began).Seconds(),
		built.Seconds()), nil
}

// changed returns the text of a file with the fault.
func (f fault) changed(root string) (string, error) {
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f.file)))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(data), f.old); n != 1 {
		return "", fmt.Errorf("want the text %q once in %s, got it %d times", f.old, f.file, n)
	}
	return strings.Replace(string(data), f.old, f.new, 1), nil
}

// build builds the judge with the fault. It runs at the root of the module.
func (f fault) build(dir, program string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	text, err := f.changed(root)
	if err != nil {
		return err
	}
	file, overlay := filepath.Join(dir, "fault.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		return err
	}
	data, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, filepath.FromSlash(f.file)): file}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(overlay, data, 0o666); err != nil {
		return err
	}
	cmd := exec.CommandContext(context.Background(), "go", "build", "-ldflags=-s -w", "-overlay", overlay, "-o", program, "./test/judge")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// find returns the first formula that is wrong with the fault, and right without it; nil if there is none.
func (f fault) find(seed uint64, faulty, exe string) (uint64, *verdict, error) {
	p := &process{configuration: configurations[0], seed: seed, program: faulty}
	q := &process{configuration: configurations[0], seed: seed, program: exe}
	defer p.stop()
	defer q.stop()
	for n := range uint64(shareOfCI) {
		v, err := p.ask(request{Number: n})
		if err != nil {
			return n, nil, err
		}
		if !slices.Contains(bad, v.Status) {
			continue
		}
		if w, err := q.ask(request{Number: n}); err != nil || !slices.Contains(bad, w.Status) {
			return n, v, err
		}
	}
	return 0, nil, nil
}
