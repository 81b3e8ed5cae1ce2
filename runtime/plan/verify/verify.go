// Package verify proves that a plan is right. It shares no code with package planner, which makes plans: it
// imports the types of a plan and nothing that makes one.
package verify

import (
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
)

// Plan proves that running the plan's queues gives what running its tasks one after the other gives. It
// trusts that tasks touch what their accesses say, and that an elementwise task touches element i at index i.
// It proves that
//
//   - every task stands in one queue once, or, if it is shared, in each queue once;
//   - every queue comes to its end;
//   - of every two accesses that conflict, of one root or of bytes that two roots share, the first is
//     over before the second begins, and likewise what Task.After and Deps ask for;
//   - what is read was written before, and no two roots that are live together share a byte;
//   - where tiles are tasks, those of a step are its whole grid, each once, and touch what their footprints
//     give;
//   - roots lie within their device's part of the arena, and only copies and collectives cross devices;
//   - a group has the accesses of its parts, and its parts may run as one task.
//
// The ranges of a shared task go to any of the workers. So a task that waits for a shared task comes after
// only what all workers had waited for when they came to it. Every worker must be able to come to a shared
// task before any worker waits for it, so that no worker depends on the help of others.
//
// The error is a *plan.Error.
func Plan(p *plan.Plan) error {
	if err := Program(p); err != nil {
		return err
	}
	q, err := checker{p}.queues()
	if err != nil {
		return err
	}
	return first(q.run, q.checkExplicit, q.checkAccesses, q.checkReuse)
}

// Program proves what Plan proves except for what depends on Deps and Schedule: that the plan's tasks, one
// after the other, read only what was written before, and find their tensors in memory that no other live
// tensor shares. The error is a *plan.Error.
func Program(p *plan.Plan) error {
	c := checker{p}
	return first(c.checkRoots, c.checkTasks, c.checkTiles, c.checkDevices, c.checkPairs, c.checkLives, c.checkWritten)
}

// Form checks each root, call and task by itself: numbers refer to existing objects, accesses are inside of
// their roots, and places are inside of the arena. Later proofs rely on this. The error is a *plan.Error.
func Form(p *plan.Plan) error {
	c := checker{p}
	return first(c.checkRoots, c.checkTasks)
}

// first returns the first error of some checks.
func first(checks ...func() *plan.Error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checker is a plan that is checked.
type checker struct{ *plan.Plan }

// has reports whether the plan has a root of that number.
func (c checker) has(r region.Root) bool { return r >= 0 && int(r) < len(c.Roots) }

// covers reports whether an access is to all elements of its root.
func (c checker) covers(a *region.Access) bool {
	for d, n := range c.Roots[a.Root].Shape {
		if a.Lo[d] > 0 || a.Hi[d] < n {
			return false
		}
	}
	return true
}
