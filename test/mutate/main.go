// Mutate judges the tests of kernels: it changes the kernels in small ways, one at a time, and reports
// which changes no test notices.
//
// Usage, at the module's root:
//
//	go run ./test/mutate [-n 200] [-seed 1] [-parallel 2] [-timeout 2m] [-only REGEXP]
//
// A mutant differs in one place: an operator, a sign, an index, a bound of a range, a constant, a
// statement that is left out, or two arguments that are swapped. Which ones are made depends on the seed
// and on the kernels only. Mutants that do not compile do not count. A mutant is killed if a test of the
// kernels fails or takes too long, or a conformance case; tests of other operators are left out where a
// file belongs to one operator.
//
// With -maker it judges the verifier of plans instead:
//
//	go run ./test/mutate -maker [-every 1] [-parallel 2] [-only REGEXP]
//
// It changes the packages that make plans in every way that it can: conditions, jumps and loops, too. Each
// mutant makes many plans. A plan that differs from that of the planner as it is must be refused by packages
// verify and validate, or be proved right in another way. The exit status is 1 if a plan is accepted and not
// proved.
//
// Nothing in the module is changed: mutants are overlaid when compiling, all of them at once, and an
// environment variable says which one runs. The last line is
// "N of M mutants killed (P%)"; those that survive are listed before. The exit status is 0 if at least
// 90 % were killed, 1 if not, and 2 for trouble.
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
)

// enough is the share of mutants that must be killed.
const enough = 0.9

type options struct {
	n, parallel int
	every       int
	seed        uint64
	timeout     time.Duration
	only        *regexp.Regexp
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var o options
	only := flag.String("only", "", "mutate only files whose name matches this `regexp`")
	flag.IntVar(&o.n, "n", 200, "how many mutants")
	flag.Uint64Var(&o.seed, "seed", 1, "what decides which mutants are made")
	flag.IntVar(&o.parallel, "parallel", 2, "how many are tested at a time")
	flag.DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long the tests of a mutant may take")
	flag.IntVar(&o.every, "every", 1, "of the mutants of the maker, take every n-th")
	maker := flag.Bool("maker", false, "mutate what makes plans, and judge the verifier")
	flag.Parse()
	status, err := 0, error(nil)
	if o.only, err = regexp.Compile(*only); err == nil {
		judged := run
		if *maker {
			judged = runMaker
		}
		status, err = judged(ctx, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		status = 2
	}
	os.Exit(status)
}

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
		return 0, errors.New("there is nothing to mutate")
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
	return summarize(w, mutants, verdicts), nil
}

// summarize lists the kinds of mutants and those that survive, and returns the exit status.
func summarize(w io.Writer, mutants []mutant, verdicts []verdict) int {
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
