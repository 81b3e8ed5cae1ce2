// Judge compares what formulas compute with what they mean. It writes random formulas, which have what the
// language has, and runs those that opgen check accepts: with each set of instructions that the processor
// has, without loops in machine code, in small blocks, with several workers, in ranges of several sizes,
// beside elementwise operators, forward and backward, each gradient with the others and alone, and in the
// interpreter. An oracle that shares nothing with them but the syntax (package internal/oracle) says what is
// right. A formula that is wrong, fails or ends its process is written with its seed, and as the smallest
// formula of its kind that could be found.
//
//	go run ./test/judge -formulas 10000 -seed 1
//
// Each kind of formulas in which an implementation has been wrong has a generator of its own: -kind all
// judges as many of each.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/randomformula"
)

func main() {
	formulas := flag.Int("formulas", 1000, "how many random formulas are judged")
	seed := flag.Uint64("seed", 1, "the seed of the formulas")
	kind := flag.String("kind", "", "judge formulas of this kind, in which implementations have been wrong; all judges each kind")
	from := flag.Uint64("from", 0, "the number of the first formula")
	only := flag.String("only", "", "only findings that begin with this are listed, such as wrong, or only such faults are built")
	child := flag.Bool("child", false, "run formulas whose cases come on standard input, for the process that started this one")
	device := flag.Bool("device", false, "run formulas on a GPU: the program must be built with the tag cuda")
	plain := flag.Bool("plain", false, "of a child: run each formula once")
	shrink := flag.Bool("shrink", true, "look for a smaller formula of each kind of finding")
	show := flag.Bool("show", false, "print the spec of formula number -from, and judge it")
	corpus := flag.String("corpus", "", "judge the examples of the specs in this folder, rather than random formulas")
	seeded := flag.Bool("faults", false, "build the judge with each of some faults in the compiler, and fail if it does not find one within CI's share")
	every := flag.Uint("every", 1, "build the judge only with each fault whose number leaves the rest -chosen when it is divided by this")
	chosen := flag.Uint("chosen", 0, "which faults are taken with -every; any number, whose rest counts")
	flag.Parse()
	if *every == 0 {
		fmt.Fprintln(os.Stderr, "judge: -every: want at least 1, got 0")
		os.Exit(2)
	}
	if names := randomformula.Kinds(); *kind != "" && *kind != "all" && !slices.Contains(names, *kind) {
		fmt.Fprintf(os.Stderr, "judge: there is no kind %q: want all, or one of %s\n", *kind, strings.Join(names, ", "))
		os.Exit(2)
	}
	where := configurations
	if *device {
		where = onDevice
	}
	switch {
	case *child:
		serve(*seed, *plain, *device)
	case *corpus != "":
		if err := ofCorpus(where, *corpus); err != nil {
			fmt.Fprintln(os.Stderr, "judge:", err)
			os.Exit(1)
		}
	case *seeded:
		if err := findFaults(*seed, *only, *every, *chosen, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "judge:", err)
			os.Exit(1)
		}
	case *show:
		os.Exit(showOne(*kind, *seed, *from, *device))
	default:
		if err := judgeKinds(*kind, options{*formulas, *kind, *seed, *from, *only, *shrink, where}); err != nil {
			fmt.Fprintln(os.Stderr, "judge:", err)
			os.Exit(1)
		}
	}
}

// judgeKinds judges formulas, of each kind in turn if kind is all.
func judgeKinds(kind string, o options) error {
	if kind != "all" {
		return all(o)
	}
	var errs []error
	for _, o.kind = range randomformula.Kinds() {
		errs = append(errs, all(o))
	}
	return errors.Join(errs...)
}

// maxStack bounds the stack of a child, so that a recursion without end does not take the machine's memory.
const maxStack = 64 << 20

// serve judges the cases whose numbers, or whose texts, come on standard input, and writes a verdict for
// each.
func serve(seed uint64, plain, device bool) {
	debug.SetMaxStack(maxStack)
	signal.Ignore(os.Interrupt) // of the terminal, which stops the process that started this one
	r := newRunner(device)
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var q request
		if err := in.Decode(&q); err != nil {
			return
		}
		c := q.Case
		if c == nil {
			c = caseOf("", seed, q.Number)
		}
		v := r.judge(c, plain)
		v.Number = q.Number
		if err := out.Encode(v); err != nil {
			return
		}
	}
}

// showOne prints a formula and its verdict.
func showOne(kind string, seed, number uint64, device bool) int {
	c := caseOf(kind, seed, number)
	v := newRunner(device).judge(c, false)
	fmt.Printf("%s\nextents %v, type %s, attributes %s\n%s %s: %s\n", strings.TrimSpace(c.Spec()), c.Dims, c.Type, c.Attrs, v.Status, v.Variant, v.Message)
	if !slices.Contains(bad, v.Status) {
		return 0
	}
	return 1
}
