// Graphs judges random graphs of the catalogue, in which elementwise operators meet those that repeat or
// reduce tensors. It runs each by kernels and by formulas, forward and backward, and compares what each
// operator gives with what its formula means, as package internal/oracle says. A graph that is wrong is
// written with its seed.
//
//	go run ./test/judge/graphs -graphs 1000 -seed 1
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	graphs := flag.Int("graphs", 100, "how many random graphs are judged")
	seed := flag.Uint64("seed", 1, "the seed of the graphs")
	from := flag.Uint64("from", 0, "the number of the first graph")
	flag.Parse()
	if err := ofGraphs(*graphs, *seed, *from); err != nil {
		fmt.Fprintln(os.Stderr, "graphs:", err)
		os.Exit(1)
	}
}

// ofGraphs judges random graphs, and lists those that are wrong.
func ofGraphs(graphs int, seed, from uint64) error {
	wrong, compared := 0, 0
	for i := range uint64(graphs) {
		text, k, err := judgeNetwork(seed, from+i)
		compared += k
		if err != nil {
			wrong++
			fmt.Printf("-graphs 1 -seed %d -from %d: %v\n    %s\n", seed, from+i, err, text)
		}
	}
	fmt.Printf("%d graphs, of which %d are wrong; %d elements compared\n", graphs, wrong, compared)
	if wrong > 0 {
		return fmt.Errorf("%d of %d graphs are wrong", wrong, graphs)
	}
	return nil
}
