// Command tiles measures plans with a million tiles. It builds a plan and loads it, which also verifies it.
// Then it prints the wall-clock time, the processor time and the peak memory of the process. It fails if the
// processor time or the memory is over its limit.
//
// The program is a chain of pooling operators. Each tile reads its own rows and the neighboring rows.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/pool2d"
	"github.com/opgen/opgen/internal/printer"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

func main() {
	log.SetFlags(0)
	tiles := flag.Int("tiles", 1_000_000, "number of tiles")
	grids := flag.Bool("grids", false, "make one task with a grid of tiles for each operator, instead of one task for each tile")
	workers := flag.Int("workers", 1, "number of queues")
	seconds := flag.Float64("seconds", 10, "limit of the processor time, in seconds")
	bytes := flag.Int64("bytes", 1<<30, "limit of the peak memory, in bytes")
	flag.Parse()
	out := printer.New(os.Stdout)
	took, err := measure(out, *tiles, *workers, *grids)
	if err != nil {
		log.Fatal(err)
	}
	busy, peak := usage()
	fmt.Fprintf(out, "%d tiles, grids %v, %d queues: %.2f s, processor time %.2f s, %d MiB\n", *tiles, *grids, *workers, took.Seconds(), busy.Seconds(), peak>>20)
	if err := out.Err(); err != nil {
		log.Fatal(err)
	}
	if busy.Seconds() > *seconds || peak > *bytes {
		fmt.Fprintf(os.Stderr, "want at most %v s of processor time and %d MiB\n", *seconds, *bytes>>20)
		os.Exit(1)
	}
}

// Each operator of the program has planes*rows tiles.
const (
	planes    = 100 // channels of the image
	rows      = 100 // rows of tiles in a plane
	tileRows  = 4   // rows of a tile, as in the spec of pool_2d
	imageCols = 64
)

// chain returns a program whose operators have the given number of tiles in total.
func chain(tiles int) (*graph.Program, error) {
	g := graph.New(1)
	pool := pool2d.Defaults(3, 3)
	pool.PaddingH, pool.PaddingW = 1, 1
	x := g.Input("image", dtype.F32, 1, planes, rows*tileRows, imageCols)
	for range max(tiles/(planes*rows), 1) {
		x = pool2d.Apply(g, pool, x)
	}
	return graph.Inference(g, x)
}

// measure builds and loads the plan of a chain, prints the times, and returns their sum.
func measure(w io.Writer, tiles, workers int, grids bool) (time.Duration, error) {
	program, err := chain(tiles)
	if err != nil {
		return 0, err
	}
	var r task.Registry
	if err := catalogue.Register(&r); err != nil {
		return 0, err
	}
	e := engine.New(&r, cpu.New(cpu.Config{Workers: workers}), engine.Config{})
	defer e.Close()
	start := time.Now()
	opts := append(e.Options(), planner.Tiled())
	if grids {
		opts = e.Options()
	}
	p, err := planner.Build(program, opts...)
	if err != nil {
		return 0, err
	}
	if grids {
		for i := range p.Tasks {
			p.Tasks[i].Grain, p.Tasks[i].Inner[0].Grain, p.Tasks[i].Inner[1].Grain = 1, 1, tileRows
		}
	}
	n := 0
	for i := range p.Tasks {
		n += p.Tasks[i].Ranges()
	}
	if n != tiles {
		return 0, fmt.Errorf("want %d tiles, got %d", tiles, n)
	}
	built := time.Since(start)
	if _, err := e.Load(p); err != nil {
		return 0, err
	}
	took := time.Since(start)
	fmt.Fprintf(w, "%d tasks, %d dependencies: built in %v, verified and loaded in %v\n", len(p.Tasks), p.Deps.Edges(), built, took-built)
	return took, nil
}
