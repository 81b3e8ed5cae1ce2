package planner

// What tests in package planner_test use.
var (
	RandomPlan = randomPlan
	RunRandom  = runRandom
	Ordered    = ordered
	BrutePairs = tilePairs
)

// TileGraphs returns how many random graphs of the catalogue are run in tiles.
func TileGraphs() int { return *tiles }

// FirstGraph returns the seed of the first random graph.
func FirstGraph() uint64 { return *first }
