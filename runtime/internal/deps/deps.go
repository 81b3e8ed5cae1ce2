// Package deps derives the dependencies between tasks from what they access.
//
// Tasks are added in program order. A task depends on an earlier one if they access overlapping
// elements of a root and at least one of them writes: read after write, write after read, write after
// write. Views and in-place slots are regions of one root, so aliasing needs no special case.
package deps

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
)

// Access is what a task does with elements of a root.
type Access struct {
	Root int32
	Perm perm.Perm
	// Retire says that the task touches memory that the root had until now, and not the root. The task
	// comes after all accesses so far that touch Box, and that Meets does not except. Perm is ignored.
	Retire bool
	// Box is the elements in the root's index space; nil means the whole root. The builder does not keep it.
	Box *region.Box
	// Meets reports, for an access that retires a root, whether it touches memory of a box of the root.
	// Without it, it does. Accesses to the whole root are not asked about.
	Meets func(*region.Box) bool
}

// nothing reports whether the access touches no element.
func (a *Access) nothing() bool { return a.Perm == perm.None || a.Box != nil && a.Box.Empty() }

// Builder builds a schedule.Graph.
type Builder struct {
	graph schedule.Graph
	roots []root
	// Readers are chained in lists within one slice, so that a root without any costs nothing.
	links   [][]link // in chunks, which never move
	tail    []link   // what is used of the last chunk
	indexes []*index // of roots that are accessed in parts
	seen    []int32  // per task: the last task that got it as a predecessor through a long list
	marked  int      // how many of the current task's predecessors are in seen
}

// root holds the latest accesses to a root.
type root struct {
	writer  int32 // the last task that wrote all of it, or -1
	reader  int32 // a task that read it since, or -1
	readers int32 // list of others that did, or -1
	boxes   int32 // number of the index of accesses to parts of it, or -1
}

type link struct{ task, next int32 }

const none = -1

// untouched is a root without accesses.
var untouched = root{none, none, none, none}

// chunk is the number of links that are allocated together, as a power of 2.
const chunk = 12

// NewBuilder returns a builder for tasks on the given number of roots. tasks is how many are expected.
func NewBuilder(roots, tasks int) *Builder {
	b := &Builder{roots: make([]root, roots)}
	for i := range b.roots {
		b.roots[i] = untouched
	}
	b.graph.Start = make([]int32, 1, tasks+1)
	b.graph.Pred = make([]int32, 0, 3*tasks) // most tasks have fewer
	return b
}

// Task adds the next task and returns its number. after lists explicit predecessors besides those
// that follow from accesses. A root or predecessor that does not exist is an error.
func (b *Builder) Task(accesses []Access, after ...int) (int, error) {
	t := int32(b.graph.Len())
	first := len(b.graph.Pred)
	b.marked = 0
	for _, p := range after {
		if p < 0 || p >= int(t) {
			b.graph.Pred = b.graph.Pred[:first]
			return 0, fmt.Errorf("deps: task %d is to run after %d, which is not an earlier task", t, p)
		}
		b.depend(first, int32(p))
	}
	retires := false // parts of a root
	for i := range accesses {
		a := &accesses[i]
		if a.Root < 0 || int(a.Root) >= len(b.roots) {
			b.graph.Pred = b.graph.Pred[:first]
			return 0, fmt.Errorf("deps: task %d accesses root %d of %d", t, a.Root, len(b.roots))
		}
		switch {
		case a.Retire && a.Box != nil:
			retires = true
		case a.Retire:
			b.preds(t, first, &Access{Root: a.Root, Perm: perm.Write})
		case a.Perm == perm.Read && a.Box == nil:
			// Nearly all reads are of roots that one task has written as a whole.
			if r := &b.roots[a.Root]; r.boxes != none {
				b.preds(t, first, a)
			} else if r.writer != none {
				b.depend(first, r.writer)
			}
		case !a.nothing():
			b.preds(t, first, a)
		}
	}
	if retires {
		b.retire(t, first, accesses)
	}
	for i := range accesses {
		a := &accesses[i]
		switch {
		case a.Retire || a.nothing():
		case a.Box != nil:
			b.noteBox(t, a)
		case a.Perm == perm.Read:
			if r := &b.roots[a.Root]; r.reader == none {
				r.reader = t
			} else if r.reader != t {
				r.readers = b.link(t, r.readers)
			}
		default:
			b.note(t, a)
		}
	}
	b.graph.Start = append(b.graph.Start, int32(len(b.graph.Pred)))
	return int(t), nil
}

// retire adds the predecessors that follow from accesses which retire parts of roots. It leaves out those
// that come directly before another predecessor, such as the task that wrote what others read since.
func (b *Builder) retire(t int32, first int, accesses []Access) {
	own := len(b.graph.Pred)
	for i := range accesses {
		if a := &accesses[i]; a.Retire && a.Box != nil {
			b.preds(t, first, &Access{Root: a.Root, Perm: perm.Write, Box: a.Box, Meets: a.Meets})
		}
	}
	all := b.graph.Pred[first:]
	if len(all) > short {
		return
	}
	kept := own
	for i := own; i < len(b.graph.Pred); i++ {
		p := b.graph.Pred[i]
		follows := slices.ContainsFunc(all, func(q int32) bool {
			return q > p && slices.Contains(b.graph.Pred[b.graph.Start[q]:b.graph.Start[q+1]], p)
		})
		if !follows {
			b.graph.Pred[kept] = p
			kept++
		}
	}
	b.graph.Pred, b.marked = b.graph.Pred[:kept], 0
}

// Graph returns the tasks added so far. The builder must not be used afterwards.
func (b *Builder) Graph() *schedule.Graph { return &b.graph }

// Last returns the predecessors of the task that was added last. They may not be changed.
func (b *Builder) Last() []int32 {
	n := len(b.graph.Start)
	return b.graph.Pred[b.graph.Start[n-2]:b.graph.Start[n-1]]
}

// depend adds a predecessor of the current task, whose predecessors begin at first, unless it is one.
func (b *Builder) depend(first int, p int32) {
	for _, q := range b.graph.Pred[first:] {
		if q == p {
			return
		}
	}
	b.graph.Pred = append(b.graph.Pred, p)
}

// short is the number of predecessors up to which they are searched one by one.
const short = 16

// dependOnMany is depend for one of many predecessors.
func (b *Builder) dependOnMany(first int, p int32) {
	preds := b.graph.Pred[first:]
	if len(preds) <= short {
		b.depend(first, p)
		return
	}
	t := int32(b.graph.Len())
	for len(b.seen) < int(t) {
		b.seen = append(b.seen, none)
	}
	for _, q := range preds[b.marked:] {
		b.seen[q] = t
	}
	if b.seen[p] != t {
		b.seen[p] = t
		b.graph.Pred = append(b.graph.Pred, p)
	}
	b.marked = len(b.graph.Pred) - first
}

// preds adds the predecessors that follow from an access.
func (b *Builder) preds(t int32, first int, a *Access) {
	r := &b.roots[a.Root]
	if r.boxes != none {
		b.indexes[r.boxes].conflicts(a, func(p int32) {
			if p != t {
				b.dependOnMany(first, p)
			}
		})
	}
	// Readers come after the writer themselves.
	if (a.Perm == perm.Read || !b.readers(first, r)) && r.writer != none {
		b.depend(first, r.writer)
	}
}

// list adds all tasks of a list as predecessors and reports whether there were any.
func (b *Builder) list(first int, head int32) bool {
	for i := head; i != none; {
		l := b.at(i)
		b.dependOnMany(first, l.task)
		i = l.next
	}
	return head != none
}

// readers adds the readers of a root as predecessors and reports whether there were any.
func (b *Builder) readers(first int, r *root) bool {
	if r.reader == none {
		return b.list(first, r.readers)
	}
	b.depend(first, r.reader)
	b.list(first, r.readers)
	return true
}

// note records an access to a whole root, which is no read, for the tasks to come.
func (b *Builder) note(t int32, a *Access) {
	b.roots[a.Root] = untouched
	b.roots[a.Root].writer = t
}

func (b *Builder) link(task, next int32) int32 {
	if len(b.tail) == cap(b.tail) {
		b.tail = make([]link, 0, 1<<chunk)
		b.links = append(b.links, b.tail[:cap(b.tail)])
	}
	b.tail = append(b.tail, link{task, next})
	return int32(len(b.links)<<chunk + len(b.tail) - (1<<chunk + 1))
}

func (b *Builder) at(i int32) *link { return &b.links[i>>chunk][i&(1<<chunk-1)] }

// noteBox records an access to a part of a root. A write that covers the part of an earlier record takes its
// place: what conflicts with that also conflicts with this.
func (b *Builder) noteBox(t int32, a *Access) {
	r := &b.roots[a.Root]
	if r.boxes == none {
		r.boxes = int32(len(b.indexes))
		b.indexes = append(b.indexes, newIndex(len(a.Box.Lo)))
	}
	x := b.indexes[r.boxes]
	if a.Perm.Writes() || a.Perm == perm.Scratch {
		x.drop(a.Box)
	}
	x.add(t, a)
}
