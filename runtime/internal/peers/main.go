// Peers measures how long schedulers take to run tasks: this module's executor and its peers. These are
// [oneTBB](https://github.com/uxlfoundation/oneTBB) and [StarPU](https://starpu.gitlabpages.inria.fr), where
// they are installed. All run the same graphs in turn, round by round, so a busy machine is busy for all of
// them.
//
// For a peer it needs a C++ compiler, pkg-config and the peer's package; in Debian these are g++, pkg-config,
// libtbb-dev and libstarpu-dev.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/opgen/opgen/runtime/internal/schedbench"
)

func main() {
	rounds := flag.Int("rounds", 5, "how many processes of each peer run each graph")
	times := flag.Int("times", 5, "how often each of them runs it")
	turns := flag.Int("turns", 0, "multiplications in the body of a task, each of which needs the one before")
	only := flag.String("graph", "", "measure this `graph` only")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 1 || *times < 1 || *turns < 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(os.Stdout, *rounds, *times, *turns, *only); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// result is nanoseconds a task: of building the graph, of the fastest run, of CPU time of the run that took
// least, and of the body by itself.
type result struct{ build, run, cpu, body float64 }

func (r result) min(q result) result {
	return result{min(r.build, q.build), min(r.run, q.run), min(r.cpu, q.cpu), min(r.body, q.body)}
}

// runner measures a graph.
type runner struct {
	name    string
	measure func(g *graph, workers, times, turns int) (result, error)
}

// graph is a graph, in memory and as a file.
type graph struct {
	name  string
	preds [][]int32
	path  string
}

func run(w io.Writer, rounds, times, turns int, only string) error {
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var graphs []*graph
	for _, s := range schedbench.Shapes {
		if only != "" && s.Name != only {
			continue
		}
		g := &graph{name: s.Name, preds: s.Preds(schedbench.Tasks), path: filepath.Join(dir, s.Name)}
		if err := g.write(); err != nil {
			return err
		}
		graphs = append(graphs, g)
	}
	if len(graphs) == 0 {
		return fmt.Errorf("there is no graph %s", only)
	}
	runners := []runner{{"opgen", measureOwn}}
	for _, p := range []struct{ name, pkg string }{{"onetbb", "tbb"}, {"starpu", "starpu-1.3"}} {
		program, err := compile(dir, p.name, p.pkg)
		if err != nil {
			fmt.Fprintf(w, "%s is left out: %v\n", p.name, err)
			continue
		}
		runners = append(runners, runner{p.name, program})
	}
	tw := tabwriter.NewWriter(w, 13, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "graph\tworkers\tpeer\tbuild ns/task\trun ns/task\tCPU ns/task\t")
	if turns > 0 {
		fmt.Fprint(tw, "body ns\tefficiency\t")
	}
	fmt.Fprintln(tw)
	for _, g := range graphs {
		for _, workers := range []int{1, 2} {
			best := make([]result, len(runners))
			for i := range best {
				best[i] = result{math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)}
			}
			for range rounds {
				for i, r := range runners {
					got, err := r.measure(g, workers, times, turns)
					if err != nil {
						return fmt.Errorf("%s, %s: %w", r.name, g.name, err)
					}
					best[i] = best[i].min(got)
				}
			}
			for i, r := range runners {
				b := best[i]
				fmt.Fprintf(tw, "%s\t%d\t%s\t%.1f\t%.1f\t%.1f\t", g.name, workers, r.name, b.build, b.run, b.cpu)
				if turns > 0 {
					fmt.Fprintf(tw, "%.1f\t%.0f %%\t", b.body, 100*b.body/b.run/float64(workers))
				}
				fmt.Fprintln(tw)
			}
			if err := tw.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes the number of tasks and, for each, how many it waits for and which, in numbers of 4 bytes.
func (g *graph) write() (err error) {
	f, err := os.Create(g.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	word := func(n int) {
		var b [4]byte
		binary.NativeEndian.PutUint32(b[:], uint32(n))
		w.Write(b[:])
	}
	word(len(g.preds))
	for _, ps := range g.preds {
		word(len(ps))
		for _, p := range ps {
			word(int(p))
		}
	}
	return w.Flush()
}

// compile compiles a peer's program and returns what runs it. The sources lie in runtime/internal/peers/cpp
// of the module, whose root must be the working folder.
func compile(dir, name, pkg string) (func(*graph, int, int, int) (result, error), error) {
	flags, err := exec.Command("pkg-config", "--cflags", "--libs", pkg).Output()
	if err != nil {
		return nil, fmt.Errorf("pkg-config does not find %s: %w", pkg, err)
	}
	program := filepath.Join(dir, name+".bin")
	args := append([]string{"-O3", "-std=c++17", "-march=native", "-o", program, filepath.Join("runtime", "internal", "peers", "cpp", name+".cpp")}, strings.Fields(string(flags))...)
	if out, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("g++: %w\n%s", err, out)
	}
	return func(g *graph, workers, times, turns int) (r result, err error) {
		cmd := exec.CommandContext(context.Background(), program, g.path, fmt.Sprint(workers), fmt.Sprint(times), fmt.Sprint(turns))
		cmd.Stderr = os.Stderr
		// StarPU measures transfers to devices and keeps the results in the user's home, unless an option
		// forbids it.
		cmd.Env = append(os.Environ(), "STARPU_HOME="+dir, "STARPU_SILENT=1")
		out, err := cmd.Output()
		if err == nil {
			_, err = fmt.Sscan(string(out), &r.build, &r.run, &r.cpu, &r.body)
		}
		return r, err
	}, nil
}
