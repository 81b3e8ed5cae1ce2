package plan

import "github.com/opgen/opgen/runtime/region"

// Part is the plan of one rank: its share of a whole plan that is divided among ranks. Package project makes
// parts, and verify.Ranks proves them.
type Part struct {
	Rank int
	// Plan has the devices of the rank, the tensors on them and the tasks that run there, and messages: tasks
	// that send tensors to other ranks and receive those of others.
	Plan *Plan
	// Devices, Roots, Calls and Tasks say which ones of the whole plan those of Plan are. A root may be a
	// copy of one on another rank, or of some elements of it: those from From on, in row-major order. A task
	// that is a message is Message, and one of the whole plan may be in several parts, on some elements each.
	Devices []int
	Roots   []region.Root
	From    []int // by root of Plan
	Calls   []int
	Tasks   []int
}

// Message stands in Part.Tasks for a message, which is no task of the whole plan.
const Message = -1
