// Opconform runs conformance cases of operators and of task signatures and reports which pass.
//
// Usage:
//
//	opconform [flags] DIR
//
// DIR and the folders below it hold cases. The content of a file determines its kind. A safetensors file is a
// case of an operator. The generated operator runs on an engine. Its outputs and gradients are compared with
// those in the file, within the tolerance that the file gives. The tag ext marks cases that FlexFlow's
// attributes cannot express, and the tag edge marks results that are a convention. Both are also counted
// separately.
//
// A JSON file may hold scenarios of task signatures: declarations, registrations and launches, and the
// division of a launch among processors. With -json, opconform prints their outcomes, one JSON object a line,
// and compares nothing.
//
// Cases that fail or are not supported are listed by name with the reason. The last line is "N passed, N
// failed, N skipped".
//
// The exit status is 0 if no case failed, 1 if a case failed, and 2 after other errors.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/parallel"
	"github.com/opgen/opgen/internal/printer"
	"github.com/opgen/opgen/runtime/checked"
	"github.com/opgen/opgen/runtime/conform"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/cuda"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// command runs opconform. Its status is 2 if not all can be printed.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return printer.Run("opconform", stdout, stderr, func(stdout, stderr io.Writer) int { return run(ctx, args, stdout, stderr) })
}

// engines holds, by name of engine, the functions that make a backend with a number of workers.
var engines = map[string]func(workers int) (engine.Backend, error){
	"cpu":     func(workers int) (engine.Backend, error) { return cpu.New(cpu.Config{Workers: workers}), nil },
	"checked": func(workers int) (engine.Backend, error) { return checked.New(cpu.Config{Workers: workers}), nil },
	"cuda":    func(workers int) (engine.Backend, error) { return cuda.New(cuda.Config{Queues: workers}) },
}

// kernels holds, by name, the functions that register kernels for the operators of the catalogue.
var kernels = map[string]func(*task.Registry) error{
	"catalogue": catalogue.Register,
	"formula":   func(r *task.Registry) error { return ofFormulas(r, formula.Register) },
	"reference": func(r *task.Registry) error { return ofFormulas(r, formula.RegisterReference) },
}

// deviceKernels holds those for GPUs.
var deviceKernels = map[string]func(*task.Registry) error{
	"catalogue": catalogue.RegisterCUDA,
	"formula": func(r *task.Registry) error {
		return ofFormulas(r, func(r *task.Registry, _ op.Target, o ...*task.Operator) error { return formula.RegisterCUDA(r, o...) })
	},
}

// ofFormulas registers kernels that are made of formulas. Operators without a formula are left out.
func ofFormulas(r *task.Registry, register func(*task.Registry, op.Target, ...*task.Operator) error) error {
	for _, o := range catalogue.Operators() {
		if len(o.Formula) == 0 {
			continue
		}
		if err := register(r, op.CPU, &o.Operator); err != nil {
			return err
		}
	}
	return nil
}

type options struct {
	engine, kernels, op, dtype, answers string
	workers                             int
	verbose, json                       bool
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	trouble := func(err error) int {
		fmt.Fprintln(stderr, "opconform:", err)
		return 2
	}
	known := strings.Join(slices.Sorted(maps.Keys(engines)), ", ")
	var o options
	flags := flag.NewFlagSet("opconform", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: opconform [flags] DIR")
		flags.PrintDefaults()
	}
	flags.StringVar(&o.engine, "engine", "cpu", "the `engine` to run on: "+known+"; checked also checks kernels, and cuda runs on a GPU")
	flags.StringVar(&o.kernels, "kernels", "catalogue", "the `kernels` to run: those of the catalogue; formula, loops that are made of formulas; or reference, which computes formulas element by element")
	flags.StringVar(&o.op, "op", "", "run the cases of these `operators` only, separated by commas")
	flags.StringVar(&o.dtype, "dtype", "float32", "the `type` in which floating-point cases are computed: float32 or float64")
	flags.StringVar(&o.answers, "answers", "", "write what was computed into this `folder`, one file for each case")
	flags.IntVar(&o.workers, "workers", 1, "workers of the engine")
	flags.BoolVar(&o.verbose, "v", false, "also list what passes")
	flags.BoolVar(&o.json, "json", false, "print the outcomes of scenarios of task signatures as JSON, and nothing else")
	var dirs []string
	for rest := args; ; {
		if err := flags.Parse(rest); errors.Is(err, flag.ErrHelp) {
			return 0
		} else if err != nil {
			return 2
		}
		if flags.NArg() == 0 {
			break
		}
		dirs = append(dirs, flags.Arg(0))
		rest = flags.Args()[1:]
	}
	if len(dirs) != 1 {
		flags.Usage()
		return 2
	}
	backend, ok := engines[o.engine]
	if !ok {
		return trouble(fmt.Errorf("there is no engine %q; engines are %s", o.engine, known))
	}
	if o.dtype != "float32" && o.dtype != "float64" {
		return trouble(fmt.Errorf("--dtype: want float32 or float64, got %q", o.dtype))
	}
	sets := kernels
	if o.engine == "cuda" {
		sets = deviceKernels
	}
	register, ok := sets[o.kernels]
	if !ok {
		return trouble(fmt.Errorf("--kernels: want %s for engine %s, got %q", strings.Join(slices.Sorted(maps.Keys(sets)), " or "), o.engine, o.kernels))
	}
	var registry task.Registry
	if err := register(&registry); err != nil {
		return trouble(err)
	}
	if b, err := backend(o.workers); err != nil { // rather than an error of each case
		return trouble(err)
	} else if err := b.Close(); err != nil {
		return trouble(err)
	}
	runner := &conform.Runner{Registry: &registry, Operators: catalogue.Operators(), Double: o.dtype == "float64",
		Backend: func() (engine.Backend, error) { return backend(o.workers) }}
	var ops []string
	if o.op != "" {
		ops = strings.Split(o.op, ",")
	}
	cases, scenarios, err := conform.LoadAll(os.DirFS(dirs[0]), ops...)
	if err != nil {
		return trouble(err)
	}
	if o.json {
		if err := writeOutcomes(stdout, scenarios); err != nil {
			return trouble(err)
		}
		return 0
	}
	if len(cases)+len(scenarios) == 0 {
		return trouble(fmt.Errorf("no cases in %s", dirs[0]))
	}
	results := runAll(ctx, runner, cases, o.kernels != "catalogue")
	if err := runner.Close(); err != nil {
		return trouble(err)
	}
	if ctx.Err() != nil {
		return trouble(errors.New("interrupted"))
	}
	if o.answers != "" {
		if err := writeAnswers(o.answers, results); err != nil {
			return trouble(err)
		}
	}
	lines := operatorLines(results)
	more, err := scenarioLines(scenarios)
	if err != nil {
		return trouble(err)
	}
	return report(stdout, append(lines, more...), o.verbose)
}

// runAll runs cases, as many at once as there are processors. Kernels that are made of formulas cannot run
// operators without a formula: cases of these are skipped.
func runAll(ctx context.Context, r *conform.Runner, cases []*conform.Case, formulas bool) []*conform.Result {
	results := make([]*conform.Result, len(cases))
	parallel.Do(len(cases), func(i int) {
		c := cases[i]
		if formulas && slices.ContainsFunc(r.Operators, func(o *graph.Operator) bool { return o.Name == c.Op && len(o.Formula) == 0 }) {
			results[i] = &conform.Result{Case: c, Status: conform.Skipped, Reason: c.Op + " has no formula"}
		} else if ctx.Err() == nil {
			results[i] = r.Run(ctx, c)
		}
	})
	return results
}

func writeAnswers(dir string, results []*conform.Result) error {
	for _, r := range results {
		if len(r.Computed) == 0 {
			continue
		}
		f := safetensors.File{Tensors: r.Computed}
		data, err := f.Encode()
		if err != nil {
			return fmt.Errorf("%s: %w", r.Case.Path, err)
		}
		path := filepath.Join(dir, filepath.FromSlash(r.Case.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// writeOutcomes prints the outcome of every scenario, one JSON object a line.
func writeOutcomes(w io.Writer, scenarios []*conform.Scenario) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, s := range scenarios {
		o, err := s.Run()
		if err != nil {
			return err
		}
		if err := enc.Encode(o); err != nil {
			return err
		}
	}
	return nil
}

// line is the result of one case.
type line struct {
	name, group, reason string
	status              conform.Status
}

func operatorLines(results []*conform.Result) []line {
	var lines []line
	for _, r := range results {
		group := "core"
		for _, g := range []string{"ext", "edge"} {
			if r.Case.Has(g) {
				group = g
			}
		}
		lines = append(lines, line{r.Case.Name(), group, r.Reason, r.Status})
	}
	return lines
}

func scenarioLines(scenarios []*conform.Scenario) ([]line, error) {
	var lines []line
	for _, s := range scenarios {
		o, err := s.Run()
		if err != nil {
			return nil, err
		}
		l := line{name: s.ID, group: "signature"}
		switch diffs := s.Differences(o); {
		case s.Expect == nil:
			l.status, l.reason = conform.Skipped, "the scenario expects nothing"
		case len(diffs) > 0:
			l.status, l.reason = conform.Failed, strings.Join(diffs, "; ")
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// tally counts results by status.
type tally [3]int

func (t tally) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t[conform.Passed], t[conform.Failed], t[conform.Skipped])
}

func report(w io.Writer, lines []line, verbose bool) int {
	words := [...]string{"pass", "FAIL", "skip"}
	counts := map[string]*tally{}
	var total tally
	for _, l := range lines {
		if counts[l.group] == nil {
			counts[l.group] = &tally{}
		}
		counts[l.group][l.status]++
		total[l.status]++
		if l.status != conform.Passed || verbose {
			text := fmt.Sprintf("%s %s", words[l.status], l.name)
			if l.group == "ext" || l.group == "edge" {
				text += " (" + l.group + ")"
			}
			if l.reason != "" {
				text += ": " + strings.ReplaceAll(l.reason, "\n", "; ")
			}
			fmt.Fprintln(w, text)
		}
	}
	for _, g := range []string{"core", "ext", "edge", "signature"} {
		if counts[g] != nil {
			fmt.Fprintf(w, "%s: %v\n", g, *counts[g])
		}
	}
	fmt.Fprintln(w, total)
	if total[conform.Failed] > 0 {
		return 1
	}
	return 0
}
