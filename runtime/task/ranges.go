package task

// A task with usual grains is cut into mostRanges ranges at most, of which each has an amount of leastRange
// or more. That takes some microseconds, as long as it takes two workers to share a task, and many times as
// long as a range takes by itself.
const (
	mostRanges = 16
	leastRange = 1 << 14
)

// Ranges returns into how many ranges usual grains cut a step of task number t. It follows from shapes alone,
// so that results, errors and plans do not depend on the number of workers.
func (r *Resolution) Ranges(t int) int {
	return max(int(min(r.amount(t)/leastRange, mostRanges)), 1)
}
