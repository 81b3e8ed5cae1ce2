package planner

import "flag"

// Sizes of the tests with random plans; make property sets larger ones.
var (
	mutants = flag.Int("mutants", 100, "plans of which mutants are made")
	first   = flag.Uint64("first", 0, "seed of the first random graph, and of the first plan of which mutants are made")
	graphs  = flag.Int("graphs", 300, "random graphs that are run on 1 to 8 workers")
	tiles   = flag.Int("tile-graphs", 20, "random graphs of the catalogue that are run in tiles")
)
