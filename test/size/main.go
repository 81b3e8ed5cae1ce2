// Command size measures large graphs: it builds a graph of n nodes, its program and its plan, schedules,
// verifies and loads it, and prints the seconds of processor time of each stage and the peak memory. Each
// graph has a process of its own, so that its peak memory is known.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/printer"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

func main() {
	log.SetFlags(0)
	sizes := flag.String("n", "100000,1000000", "numbers of nodes, separated by commas")
	only := flag.String("shape", "", "the only shape to measure")
	workers := flag.Int("workers", 2, "number of queues")
	memory := flag.Int64("memory", 7, "GiB of memory near which garbage is collected more often")
	child := flag.Bool("child", false, "measure one shape of one size in this process")
	cpuprofile := flag.String("cpuprofile", "", "with child: the file to which a profile of processor time is written")
	memprofile := flag.String("memprofile", "", "with child: the file to which a profile of memory is written")
	flag.Parse()
	if *child {
		debug.SetMemoryLimit(*memory << 30)
		if err := profiled(*cpuprofile, *memprofile, func() error { return printRow(*only, *sizes, *workers) }); err != nil {
			log.Fatal(err)
		}
		return
	}
	if err := printTable(*only, *sizes, "-workers", strconv.Itoa(*workers), "-memory", fmt.Sprint(*memory)); err != nil {
		log.Fatal(err)
	}
}

// printTable measures shapes of several sizes, each in a process of its own with the given flags.
func printTable(only, sizes string, flags ...string) error {
	out := printer.New(os.Stdout)
	fmt.Fprintln(out, "| graph | n | graph | program | plan | schedule | verify | load | all, seconds | GiB |")
	fmt.Fprintln(out, "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	var errs []error
	for _, s := range shapes {
		for n := range strings.SplitSeq(sizes, ",") {
			if only != "" && only != s.name {
				continue
			}
			c := exec.Command(os.Args[0], append([]string{"-child", "-shape", s.name, "-n", n}, flags...)...)
			c.Stdout, c.Stderr = out, os.Stderr
			if err := c.Run(); err != nil {
				errs = append(errs, fmt.Errorf("%s of %s: %w", s.name, n, err))
			}
		}
	}
	return errors.Join(append(errs, out.Err())...)
}

// printRow measures one shape of one size and prints the row of the table.
func printRow(name, size string, workers int) error {
	n, err := strconv.Atoi(size)
	i := slices.IndexFunc(shapes, func(s shape) bool { return s.name == name })
	if err != nil || i < 0 {
		return fmt.Errorf("want a shape and a number of nodes, got %q and %q", name, size)
	}
	stages, err := measure(&shapes[i], n, workers)
	if err != nil {
		return err
	}
	row, all := "", time.Duration(0)
	for _, took := range stages {
		row += fmt.Sprintf(" %.2f |", took.Seconds())
		all += took
	}
	for range 6 - len(stages) {
		row += " |"
	}
	_, peak := usage()
	_, err = fmt.Printf("| %s | %d |%s %.1f | %.1f |\n", name, n, row, all.Seconds(), float64(peak)/(1<<30))
	return err
}

// profiled calls f and writes profiles of it to the files that have a name.
func profiled(cpu, memory string, f func() error) error {
	if cpu != "" {
		w, err := os.Create(cpu)
		if err != nil {
			return err
		}
		defer w.Close()
		if err := pprof.StartCPUProfile(w); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	if err := f(); err != nil || memory == "" {
		return err
	}
	runtime.GC() // the profile is that of the last collection
	w, err := os.Create(memory)
	if err != nil {
		return err
	}
	defer w.Close()
	return pprof.Lookup("allocs").WriteTo(w, 0)
}

// measure returns how long each stage takes: graph, program, plan, schedule, verify and load. It stops after
// the program of a graph that must be refused.
func measure(s *shape, n, workers int) ([]time.Duration, error) {
	var stages []time.Duration
	start := clock()
	lap := func() {
		now := clock()
		stages = append(stages, now-start)
		start = now
	}
	g := graph.New(1)
	program := s.build(g, n)
	lap()
	prog, err := program()
	lap()
	if s.refused {
		if err == nil {
			return nil, fmt.Errorf("want an error of %s, got none", s.name)
		}
		return stages, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := planner.Build(prog)
	if err != nil {
		return nil, err
	}
	lap()
	if p, err = planner.Reschedule(p, planner.Workers(workers)); err != nil {
		return nil, err
	}
	lap()
	if err := verify.Plan(p); err != nil {
		return nil, err
	}
	lap()
	var r task.Registry
	if err := catalogue.Register(&r); err != nil {
		return nil, err
	}
	e := engine.New(&r, cpu.New(cpu.Config{Workers: workers}), engine.Config{})
	defer e.Close()
	start = clock()
	if _, err := e.Load(p); err != nil {
		return nil, err
	}
	lap()
	return stages, nil
}

// clock returns the processor time of the process so far, which other processes do not change; or else the
// time.
func clock() time.Duration {
	if busy, _ := usage(); busy > 0 {
		return busy
	}
	return time.Duration(time.Now().UnixNano())
}
