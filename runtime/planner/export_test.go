package planner

import "github.com/opgen/opgen/runtime/plan"

// What tests in package planner_test use.
var (
	RandomPlan = randomPlan
	RunRandom  = runRandom
	Ordered    = ordered
	BrutePairs = tilePairs
)

// Near sets how many bytes the cache of a worker holds.
func Near(bytes int64) Option { return func(o *options) { o.near = bytes } }

// Wavefront reports whether queues hold tasks in another order than the plan.
func Wavefront(p *plan.Plan, near int64) bool { return draft{p}.wavefront(&p.Deps, near) != nil }

// TileGraphs returns how many random graphs of the catalogue are run in tiles.
func TileGraphs() int { return *tiles }

// FirstGraph returns the seed of the first random graph.
func FirstGraph() uint64 { return *first }
