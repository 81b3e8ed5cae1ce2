// Package schedule holds the types of a plan's dependencies and queues. For engines, planners and tools that
// read plans.
package schedule

import "math"

// Graph lists the direct predecessors of tasks. Predecessors have smaller numbers than their task.
// Dependencies that follow from others may be left out.
type Graph struct {
	// Start holds, by task, the index in Pred of its first predecessor, and one more entry for the end.
	Start []int32 `json:"start"`
	Pred  []int32 `json:"pred"`
}

// Len returns the number of tasks.
func (g *Graph) Len() int { return max(len(g.Start)-1, 0) }

// Preds returns the predecessors of a task. The caller must not change them.
func (g *Graph) Preds(task int) []int32 { return g.Pred[g.Start[task]:g.Start[task+1]] }

// Edges returns the number of dependencies.
func (g *Graph) Edges() int { return len(g.Pred) }

// Schedule is the queues of all workers.
type Schedule struct {
	Tasks  int     `json:"tasks"`
	Queues [][]Op  `json:"queues"`
	Waits  []Wait  `json:"waits"`
	Shared []int32 `json:"shared"` // tasks whose ranges several workers share, ascending
}

// Workers returns the number of workers.
func (s *Schedule) Workers() int { return len(s.Queues) }

// Wait is the condition of a WaitFor: that a worker has passed a position of its queue.
type Wait struct {
	Worker int32
	// Position counts the entries of the worker's queue that are behind it.
	Position int32
}

// Op is an entry of a worker's queue. Op values of 0 and above run the task of that number; the functions
// below make the others.
type Op int32

// Kind is the kind of an Op.
type Kind uint8

const (
	// Run runs a task.
	Run Kind = iota
	// Share takes ranges of a task that several workers share, until none is left.
	Share
	// WaitFor waits until another worker has signaled a position of its queue.
	WaitFor
	// WaitShared waits until all ranges of a shared task are done.
	WaitShared
	// Signal tells the other workers that all earlier ops of the queue are done.
	Signal
)

const (
	shareBase  = math.MinInt32         // + task
	waitBase   = math.MinInt32 / 4 * 3 // + index into Waits
	sharedBase = math.MinInt32 / 4 * 2 // + task
	signal     = math.MinInt32 / 4     // no operand

	// MaxTasks is the number of tasks that a schedule can hold.
	MaxTasks = -signal
)

// ShareOf returns the entry that takes ranges of a shared task.
func ShareOf(task int32) Op { return Op(shareBase + task) }

// WaitOf returns the entry that waits for the condition of that index in Waits.
func WaitOf(index int) Op { return waitBase + Op(index) }

// WaitSharedOf returns the entry that waits for the end of a shared task.
func WaitSharedOf(task int32) Op { return Op(sharedBase + task) }

// Signaling is the entry that signals.
const Signaling Op = signal

// Decode returns the kind of an Op, and the number of its task or the index of its wait.
func (o Op) Decode() (Kind, int) {
	switch {
	case o >= 0:
		return Run, int(o)
	case o == signal:
		return Signal, 0
	case o >= sharedBase:
		return WaitShared, int(o - sharedBase)
	case o >= waitBase:
		return WaitFor, int(o - waitBase)
	}
	return Share, int(o - shareBase)
}
