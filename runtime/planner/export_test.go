package planner

// What tests in package planner_test use.
var (
	RandomPlan = randomPlan
	RunRandom  = runRandom
	Ordered    = ordered
	BrutePairs = tilePairs
)
