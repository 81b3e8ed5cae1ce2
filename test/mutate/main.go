// Mutate judges the tests of kernels by mutants, which are small changes of kernels. It reports the mutants
// with which all tests pass.
//
// Usage, at the root of the module:
//
//	go run ./test/mutate [-n 200] [-seed 1] [-parallel 2] [-timeout 2m] [-only REGEXP]
//
// A mutant differs in one place: an operator, a sign, an index, a bound of a range, a constant, a statement
// that is left out, or two arguments that are swapped. The choice of mutants depends on the seed and on the
// kernels only. Each of them compiles. A mutant is killed if a test of the kernels or a conformance case
// fails or takes too long. If a file belongs to one operator, tests of other operators do not run.
//
// With -maker, mutate judges the verifier of plans instead:
//
//	go run ./test/mutate -maker [-every 1] [-parallel 2] [-only REGEXP]
//
// It changes the packages that make plans in every place that it can. It also changes conditions, jumps and
// loops. Each mutant makes many plans. If a plan differs from the plan without a mutant, packages verify and
// validate must refuse it, or another method must prove it right. The exit status is 1 if a plan is accepted
// and not proved.
//
// With -code, mutate judges the tests of the generator and of the runtime:
//
//	go run ./test/mutate -code [-n 400] [-seed 1] [-parallel 2] [-packages REGEXP] [-only REGEXP] [-tests REGEXP] [-within DURATION]
//
// The number of mutants of a package is proportional to its lines. They are of the kinds of -maker. All test
// programs of the module that run the changed function run with the mutant, until one fails. The tests run in
// a copy of the module, and each gets five times the time that it takes without a mutant. With -within,
// programs that take longer without a mutant do not run, but for those of the packages that have mutants.
// With -tests, only those run whose folder matches.
//
// With -kit, mutate judges package optest by mutants of the kernels of test/cookbook, a module outside of the
// tree that has no other tests:
//
//	go run ./test/mutate -kit [-n 100] [-seed 1] [-parallel 2] [-only REGEXP]
//
// The exit status is 0 if at least 95 % were killed.
//
// Mutate does not change files of the module. It compiles all mutants at once, from an overlay. An
// environment variable selects the mutant that runs. The last line of the output is "N of M mutants killed
// (P%)". The lines before list the mutants that survive. The exit status is 0 if at least 90 % were killed, 1
// if not, and 2 for an error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/opgen/opgen/internal/printer"
)

// enough is the share of mutants that must be killed.
const enough = 0.9

// options holds the values of the flags of the same names.
type options struct {
	n, parallel int
	every       int
	seed        uint64
	timeout     time.Duration
	within      time.Duration
	packages    *regexp.Regexp
	tests       *regexp.Regexp
	only        *regexp.Regexp
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var o options
	only := flag.String("only", "", "mutate only files whose name matches this `regexp`")
	flag.IntVar(&o.n, "n", 200, "the number of mutants")
	flag.Uint64Var(&o.seed, "seed", 1, "the seed of the choice of mutants")
	flag.IntVar(&o.parallel, "parallel", 2, "the number of mutants that are tested at a time")
	flag.DurationVar(&o.timeout, "timeout", 2*time.Minute, "the time limit for a test program with a mutant")
	flag.IntVar(&o.every, "every", 1, "with -maker, test only mutants whose number is a multiple of `n`, and those written by hand")
	flag.DurationVar(&o.within, "within", 0, "with -code, leave out test programs of other packages that take longer; 0: none")
	packages := flag.String("packages", "", "with -code, mutate only packages whose path matches this `regexp`")
	tests := flag.String("tests", "", "with -code, run only tests of the packages whose folder matches this `regexp`, and of those with mutants")
	maker := flag.Bool("maker", false, "mutate the packages that make plans, and judge the verifier")
	code := flag.Bool("code", false, "mutate the generator and the runtime")
	kit := flag.Bool("kit", false, "judge package optest by mutants of the kernels of a module outside of the tree")
	flag.Parse()
	status, err := 0, error(nil)
	if o.only, err = regexp.Compile(*only); err == nil {
		o.packages, err = regexp.Compile(*packages)
	}
	if err == nil {
		o.tests, err = regexp.Compile(*tests)
	}
	if err == nil {
		judged := run
		if *maker {
			judged = runMaker
		}
		if *code {
			judged = runCode
		}
		if *kit {
			judged = runKit
		}
		out := printer.New(os.Stdout)
		status, err = judged(ctx, o, out)
		err = errors.Join(err, out.Err())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		status = 2
	}
	os.Exit(status)
}

// run judges the tests of kernels. It returns the exit status.
func run(ctx context.Context, o options, w io.Writer) (int, error) {
	sources, err := load("./kernels")
	if err != nil {
		return 0, err
	}
	src := sources[0]
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	mutants, err := src.choose(o.seed, o.n, src.all(o.only, false))
	if err != nil {
		return 0, err
	}
	if len(mutants) == 0 {
		return 0, fmt.Errorf("want files in ./kernels that match -only and can be mutated, got none for %q", o.only)
	}
	judge, err := newJudge(ctx, dir, o.timeout, src.overlay(mutants, 1))
	if err != nil {
		return 0, err
	}
	verdicts := make([]verdict, len(mutants))
	errs := make([]error, len(mutants))
	work := make(chan int)
	var wg sync.WaitGroup
	var print sync.Mutex
	for range o.parallel {
		wg.Go(func() {
			for i := range work {
				verdicts[i], errs[i] = judge.judge(ctx, i+1, &mutants[i])
				print.Lock()
				fmt.Fprintf(w, "%v: %v\n", &mutants[i], verdicts[i])
				print.Unlock()
			}
		})
	}
	for i := range mutants {
		select {
		case work <- i:
		case <-ctx.Done():
		}
	}
	close(work)
	wg.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return 0, err
	}
	return summarize(w, mutants, verdicts, enough), nil
}

// summarize lists the mutants that survive and counts the mutants of each kind. It returns the exit status,
// which is 1 if less than a share of them was killed.
func summarize(w io.Writer, mutants []mutant, verdicts []verdict, enough float64) int {
	killed := 0
	made, dead := map[string]int{}, map[string]int{}
	fmt.Fprintln(w, "\nsurvivors:")
	for i := range mutants {
		made[mutants[i].kind]++
		if verdicts[i].killed() {
			killed++
			dead[mutants[i].kind]++
		} else {
			fmt.Fprintf(w, "  %v\n", &mutants[i])
		}
	}
	var kinds []string
	for k := range made {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	fmt.Fprintln(w, "\nby kind:")
	for _, k := range kinds {
		fmt.Fprintf(w, "  %-10s %d of %d killed\n", k, dead[k], made[k])
	}
	share := float64(killed) / float64(len(mutants))
	fmt.Fprintf(w, "\n%d of %d mutants killed (%.1f%%)\n", killed, len(mutants), 100*share)
	if share < enough {
		return 1
	}
	return 0
}
