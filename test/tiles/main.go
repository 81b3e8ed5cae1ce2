// Command tiles measures plans of a million tiles. It builds a plan, loads it, which verifies it, and prints how long
// that took and the most memory that the process had. It fails if the time on processors or the memory is over its limit.
//
// The program is a chain of pooling operators, each of which reads the rows of its tile and their neighbors.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/pool2d"
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
	grids := flag.Bool("grids", false, "make a task of each operator, over a grid of tiles, rather than of each tile")
	workers := flag.Int("workers", 1, "number of queues")
	seconds := flag.Float64("seconds", 10, "limit of the time")
	bytes := flag.Int64("bytes", 1<<30, "limit of the memory")
	flag.Parse()
	took, err := measure(*tiles, *workers, *grids)
	if err != nil {
		log.Fatal(err)
	}
	busy, peak := usage()
	fmt.Printf("%d tiles, grids %v, %d queues: %.2f s, of which %.2f s on processors, %d MiB\n", *tiles, *grids, *workers, took.Seconds(), busy.Seconds(), peak>>20)
	if busy.Seconds() > *seconds || peak > *bytes {
		fmt.Fprintf(os.Stderr, "want at most %v s and %d MiB\n", *seconds, *bytes>>20)
		os.Exit(1)
	}
}

// The operators of the program have this many tiles each: planes, and rows of tiles in each.
const (
	planes    = 100
	rows      = 100
	tileRows  = 4 // of an image, as in the operator's spec
	imageCols = 64
)

// chain returns a program whose operators have some number of tiles together.
func chain(tiles int) (*graph.Program, error) {
	g := graph.New(1)
	pool := pool2d.Defaults()
	pool.KernelH, pool.KernelW, pool.PaddingH, pool.PaddingW = 3, 3, 1, 1
	x := g.Input("image", dtype.F32, 1, planes, rows*tileRows, imageCols)
	for range max(tiles/(planes*rows), 1) {
		x = pool2d.Apply(g, pool, x)
	}
	return graph.Inference(g, x)
}

// measure builds and loads the plan of a chain, and returns how long that took.
func measure(tiles, workers int, grids bool) (time.Duration, error) {
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
	fmt.Printf("%d tasks, %d dependencies: built in %v, verified and loaded in %v\n", len(p.Tasks), p.Deps.Edges(), built, took-built)
	return took, nil
}
