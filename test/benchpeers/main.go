// Command benchpeers measures operators, matrix products and training steps beside
// [PyTorch](https://pytorch.org), [OpenBLAS](https://www.openblas.net) and plain C, where they are installed,
// and prints a page about it. All run the same sizes in turn, round by round, so a busy machine is busy for
// all of them. A figure is the least time of all rounds.
//
// In Debian, the peers are the packages python3-torch, libopenblas0-openmp and gcc. The commands of the peers
// are in folder programs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/opgen/opgen/internal/printer"
	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/test/networks"
)

// options are the flags.
type options struct {
	threads []int
	only    *regexp.Regexp
	python  string
	rounds  int
	budget  time.Duration
	write   string
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("benchpeers: ")
	o := options{threads: []int{1}}
	flag.Func("threads", "numbers of threads, separated by commas (default 1)", func(s string) error {
		o.threads = nil
		for n := range strings.SplitSeq(s, ",") {
			v, err := strconv.Atoi(n)
			if err != nil || v < 1 {
				return fmt.Errorf("want numbers from 1, got %q", n)
			}
			o.threads = append(o.threads, v)
		}
		return nil
	})
	network := flag.String("train", "", "only run some training steps of a network, whose name is mlp or encoder: a process whose memory is measured")
	only := flag.String("only", "", "a regular expression for the names of rows; other rows are left out")
	flag.StringVar(&o.python, "python", "/usr/bin/python3", "the Python that has PyTorch")
	flag.IntVar(&o.rounds, "rounds", 5, "how often each side measures a figure")
	flag.DurationVar(&o.budget, "budget", 40*time.Millisecond, "how long it measures in a round")
	flag.StringVar(&o.write, "write", "", "the folder that gets the report; without it, the report is printed only")
	check := flag.Bool("check", false, "only check that the program has the operators of all rows of formulas, and binds their tasks")
	flag.Parse()
	if flag.NArg() > 0 || o.rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if *network != "" {
		if err := train(context.Background(), os.Stdout, *network, o.threads[0]); err != nil {
			log.Fatal(err)
		}
		return
	}
	if *check {
		if err := checkFormulas(); err != nil {
			log.Fatal(err)
		}
		return
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		log.Fatal(err)
	}
	if o.needsFormulas() {
		if err := runWithFormulas(context.Background(), os.Args[1:]); err != nil {
			log.Fatal(err)
		}
		return
	}
	out := printer.New(os.Stdout)
	if err := errors.Join(run(out, o), out.Err()); err != nil {
		log.Fatal(err)
	}
}

// run measures, prints the report and writes it.
func run(w io.Writer, o options) error {
	r, err := measure(o)
	if err != nil {
		return err
	}
	text := r.markdown()
	if _, err := io.WriteString(w, text); err != nil || o.write == "" {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(o.write, "performance-peers.md"), []byte(text), 0o666),
		os.WriteFile(filepath.Join(o.write, "performance-peers.svg"), []byte(r.plot()), 0o666),
		os.WriteFile(filepath.Join(o.write, "performance-roofline.svg"), []byte(r.roofline()), 0o666))
}

// measure measures all rows that are asked for, with each number of threads.
func measure(o options) (r report, err error) {
	dir, err := os.MkdirTemp("", "benchpeers")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	tasks, err := registry()
	if err != nil {
		return r, err
	}
	if o.only.MatchString(networks.All[0].Title) {
		if r.plainC, err = plain(dir, o.budget.Seconds()*float64(o.rounds)); err != nil {
			r.leftOut = append(r.leftOut, fmt.Sprintf("plain C: %v", err))
			err = nil
		}
	}
	if slices.ContainsFunc(loops, func(l loop) bool { return o.only.MatchString(l.row()) }) {
		program, missing := compileLoops(dir)
		if missing != nil {
			r.leftOut = append(r.leftOut, fmt.Sprintf("loops in C: %v", missing))
		} else {
			b := &bench{tasks: tasks, threads: 1, rounds: o.rounds, budget: o.budget, dir: dir}
			if r.loops, err = b.allLoops(program, o.only); err != nil {
				return r, err
			}
		}
	}
	for _, threads := range o.threads {
		p, missing := start(o.python, threads, dir, cpu.X86.HasAVX512F)
		if missing != nil {
			r.leftOut = append(r.leftOut, fmt.Sprintf("PyTorch and OpenBLAS: %v", missing))
			return r, nil
		}
		b := &bench{tasks: tasks, peer: p, python: o.python, machine: cost.MeasureMachine(threads), threads: threads, rounds: o.rounds, budget: o.budget, dir: dir}
		s, err := b.all(o.only)
		if err := errors.Join(err, p.stop()); err != nil {
			return r, err
		}
		r.sections = append(r.sections, s)
		r.version = p.version
	}
	if r.version.TorchMissing != "" {
		r.leftOut = append(r.leftOut, "PyTorch: "+r.version.TorchMissing)
	}
	if r.version.BlasMissing != "" {
		r.leftOut = append(r.leftOut, "OpenBLAS: "+r.version.BlasMissing)
	}
	return r, nil
}

// plain returns the nanoseconds of the MLP's step in C.
func plain(dir string, seconds float64) (float64, error) {
	program, err := compileC(dir)
	if err != nil {
		return 0, err
	}
	return runC(program, seconds)
}

// allLoops measures the loops whose names match beside those of a program.
func (b *bench) allLoops(program string, only *regexp.Regexp) (rows []row, err error) {
	for _, l := range loops {
		if !only.MatchString(l.row()) {
			continue
		}
		r, err := b.loop(l, program)
		if err != nil {
			return nil, err
		}
		log.Printf("%s: %.2f", l.row(), r.forward.ratio())
		rows = append(rows, r)
	}
	return rows, nil
}

// all measures the rows whose names match.
func (b *bench) all(only *regexp.Regexp) (s section, err error) {
	s.threads, s.machine = b.threads, b.machine
	add := func(to *[]row, title string, f func() (row, error)) {
		if err != nil || !only.MatchString(title) {
			return
		}
		var r row
		if r, err = f(); err != nil {
			err = fmt.Errorf("%s: %w", title, err)
			return
		}
		log.Printf("threads %d, %s: %.2f", b.threads, title, worst(r))
		*to = append(*to, r)
	}
	if b.peer.version.Torch != "" {
		for _, u := range uses {
			add(&s.operators, u.title(), func() (row, error) { return b.operator(u) })
		}
		for _, u := range formulaUses {
			add(&s.formulas, u.title(), func() (row, error) { return b.operator(u) })
		}
		for i := range networks.All {
			n := &networks.All[i]
			add(&s.networks, n.Title, func() (row, error) { return b.network(n) })
		}
	}
	if b.peer.version.Blas != "" {
		for _, double := range []bool{false, true} {
			for _, n := range products {
				if !double || n >= 256 && n <= 1024 {
					add(&s.products, fmt.Sprintf("product %v %d", double, n), func() (row, error) { return b.product(n, double) })
				}
			}
		}
	}
	return s, err
}
