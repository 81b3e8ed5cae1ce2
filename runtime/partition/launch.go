// Package partition partitions tensors into tiles.
//
// A Partition describes how one tensor is divided. A Declaration lists the arguments of a task and the
// constraints on their partitions. A Launch is checked against a Declaration, and solved to a Strategy: the
// number of leaf tasks, and the partition of every store, from the shapes, the constraints and the machine.
//
// The rules are those of [Legate]'s documentation; docs/signature.md lists where its code differs.
// Ties follow the order of declaration: inputs, outputs, redops.
//
// [Legate]: https://docs.nvidia.com/legate/latest/
package partition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
)

// Element is the element type of a store: its size, and whether its elements point into another store.
type Element struct {
	Name  string
	Bytes int
	// Points is the rank of elements that are points, Rects the rank of elements that are rectangles; 0
	// otherwise.
	Points, Rects int
}

// PointElement returns the element type of points of a rank.
func PointElement(rank int) Element {
	return Element{Name: fmt.Sprintf("point%d", rank), Bytes: 8 * rank, Points: rank}
}

// RectElement returns the element type of rectangles of a rank.
func RectElement(rank int) Element {
	return Element{Name: fmt.Sprintf("rect%d", rank), Bytes: 16 * rank, Rects: rank}
}

// Box is the set of indices lo <= i < hi.
type Box = region.Box

// Store is an array argument of a launch. Identity is by pointer: a store that is passed twice is one store.
type Store struct {
	Name    string
	Shape   []int // nil if unbound
	Rank    int   // of an unbound store
	Unbound bool
	Element Element
	// Held is the partition of the store before the launch, or nil.
	Held *Held
	// Values lists the targets of the elements of a store of points or rectangles, in row-major order. A
	// point is a box of one element.
	Values []Box
}

// rank returns the number of axes.
func (s *Store) rank() int {
	if s.Unbound {
		return s.Rank
	}
	return len(s.Shape)
}

// Held is the partition that a store has before a launch: its tile size, and the number of processors for
// which it was made.
type Held struct {
	Tile   []int
	Pieces int
}

// Machine describes the processors that run a launch.
type Machine struct {
	Kind  string // of its processors: "cpu", "omp", "gpu"
	Procs int
	// Threshold is the number of elements below which stores are not partitioned.
	Threshold int
}

// DefaultThreshold returns the default Threshold for a kind of processor.
func DefaultThreshold(kind string) int {
	switch kind {
	case "gpu":
		return 1 << 20
	case "omp":
		return 1 << 17
	}
	return 1 << 14
}

// Launch is a task with its arguments.
type Launch struct {
	Declaration *Declaration
	// Manual means that the caller sets the shape of the launch, Domain, and that no store is partitioned.
	Manual bool
	Domain []int

	stores  [][]*Store // per slot
	scalars []int      // per slot
	added   []Constraint

	// dims are the dimensions along which the task may be divided, if divisible is true.
	dims      []Dim
	divisible bool

	checker  *Checker // whose declaration equals this one; it computed the next two fields
	pattern  []int    // in which stores are passed: see flatten
	distinct []*Store // the distinct stores
}

// New returns a launch without arguments.
func New(d *Declaration) *Launch {
	n := len(d.Slots())
	return &Launch{Declaration: d, stores: make([][]*Store, n), scalars: make([]int, n)}
}

// Add appends stores to the arguments of a slot.
func (l *Launch) Add(slot string, stores ...*Store) error {
	i, err := l.slot(slot, false)
	if err == nil {
		l.stores[i] = append(l.stores[i], stores...)
		l.checker = nil
	}
	return err
}

// AddScalars appends n scalars to the arguments of a slot.
func (l *Launch) AddScalars(slot string, n int) error {
	i, err := l.slot(slot, true)
	if err == nil {
		l.scalars[i] += n
		l.checker = nil
	}
	return err
}

func (l *Launch) slot(name string, scalar bool) (int, error) {
	for i, s := range l.Declaration.Slots() {
		if s.Name == name && (s.Group == Scalars) == scalar && !s.Provided {
			return i, nil
		}
	}
	return 0, &op.Error{Task: l.Declaration.Task, Slot: name, Want: "a slot of the task", Got: "none of this name and kind"}
}

// AddConstraint adds a constraint to this launch. It fails if the task declares its constraints, or declares
// that there are none. Axes must not be negative: the ranks of a launch are known.
func (l *Launch) AddConstraint(c Constraint) error {
	d := l.Declaration
	if l.Manual {
		return &op.Error{Code: ConstraintsUnsupported, Task: d.Task, Want: "no constraints for a manual launch", Got: c.String()}
	}
	if d.declared {
		return &op.Error{Code: ConstraintsLocked, Task: d.Task, Want: "only the constraints that the task declares", Got: c.String()}
	}
	if err := d.CheckForm(c); err != nil {
		return err
	}
	for _, axis := range c.Axes {
		if axis < 0 {
			return &op.Error{Code: BadValue, Task: d.Task, Slot: c.Terms[0].String(), Want: fmt.Sprintf("%v of axes of 0 or more", c.Kind), Got: fmt.Sprint(axis)}
		}
	}
	for _, t := range c.Terms {
		if t.Index == All {
			continue
		}
		if _, _, ok := d.locate(t, l.passed); !ok {
			n := 0
			for _, slot := range d.named(t.Name) {
				n += l.passed(slot)
			}
			return &op.Error{Code: IndexOutOfRange, Task: d.Task, Slot: t.String(),
				Want: fmt.Sprintf("one of the %d %s that are passed, for %v", n, t.Name, c.Kind), Got: fmt.Sprint(t.Index)}
		}
	}
	l.added = append(l.added, c)
	return nil
}

// passed returns the number of stores in a slot.
func (l *Launch) passed(slot int) int { return len(l.stores[slot]) }

// argument is one argument of the launch that is a store.
type argument struct {
	term  Term
	group Group
	store *Store
}

func (l *Launch) argument(slot, i int) argument {
	return argument{l.Declaration.argumentTerm(slot, i), l.Declaration.Slots()[slot].Group, l.stores[slot][i]}
}

// arguments lists all arguments in order of declaration: inputs, outputs, redops.
func (l *Launch) arguments() []argument {
	var out []argument
	for _, g := range []Group{Inputs, Outputs, Redops} {
		for slot, s := range l.Declaration.Slots() {
			if s.Group == g {
				for i := range l.stores[slot] {
					out = append(out, l.argument(slot, i))
				}
			}
		}
	}
	return out
}

// check checks the machine, unbound stores, counts, and the domain of a manual launch.
func (l *Launch) check(m Machine, args []argument) error {
	d := l.Declaration
	if m.Procs < 1 {
		return &op.Error{Code: EmptyMachine, Task: d.Task, Want: "a machine with processors", Got: fmt.Sprintf("%d of kind %s", m.Procs, m.Kind)}
	}
	for _, a := range args {
		if a.store.Unbound && a.group != Outputs {
			return &op.Error{Code: UnboundArgument, Task: d.Task, Slot: a.term.String(), Want: "a bound store", Got: "an unbound one"}
		}
	}
	if err := l.counts(); err != nil {
		return err
	}
	if l.Manual && (len(l.Domain) == 0 || slices.Contains(l.Domain, 0)) {
		return &op.Error{Code: EmptyDomain, Task: d.Task, Want: "a domain with leaves for a manual launch", Got: fmt.Sprint(l.Domain)}
	}
	return nil
}

// counts returns one error for all slots with a wrong number of arguments.
func (l *Launch) counts() error {
	var want, got []string
	for i, s := range l.Declaration.Slots() {
		if s.Provided {
			continue
		}
		n := l.passed(i)
		if s.Group == Scalars {
			n = l.scalars[i]
		}
		if !s.Arity.Allows(n) {
			want = append(want, fmt.Sprintf("%v %s", s.Arity, s.Name))
			got = append(got, fmt.Sprintf("%d %s", n, s.Name))
		}
	}
	if want == nil {
		return nil
	}
	return &op.Error{Code: CountMismatch, Task: l.Declaration.Task, Want: strings.Join(want, ", "), Got: strings.Join(got, ", ")}
}

// expand converts the constraints on terms into constraints on arguments, or pairs of arguments.
func (l *Launch) expand() ([]pair, error) {
	declared := l.Declaration.constraints
	var out []pair
	for _, c := range append(slices.Clone(l.added), declared...) {
		groups, ok, err := l.resolve(c)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if c.Kind.Form().Terms == AnyTerms && len(groups) == 1 {
			if len(groups[0]) == 0 {
				continue
			}
			groups = [][]argument{groups[0][:1], groups[0]}
		}
		if len(groups) == 1 {
			for _, a := range groups[0] {
				out = append(out, pair{c: c, a: a})
			}
			continue
		}
		for _, later := range groups[1:] {
			for _, a := range groups[0] {
				for _, b := range later {
					if a.term != b.term || a.group != b.group {
						out = append(out, pair{c, a, b})
					}
				}
			}
		}
	}
	return out, nil
}

// resolve returns the arguments that a constraint's terms denote. ok is false if a term names an optional
// argument that is not passed: the constraint does not apply then.
func (l *Launch) resolve(c Constraint) (groups [][]argument, ok bool, err error) {
	missing, optional := "", false
	for _, t := range c.Terms {
		var args []argument
		if t.Index == All {
			for _, slot := range l.Declaration.named(t.Name) {
				for i := range l.stores[slot] {
					args = append(args, l.argument(slot, i))
				}
			}
		} else if slot, i, found := l.Declaration.locate(t, l.passed); found {
			args = []argument{l.argument(slot, i)}
		} else {
			if missing == "" {
				missing = t.String()
			}
			optional = optional || l.Declaration.arityOf(t.Name).isRanged()
		}
		groups = append(groups, args)
	}
	if missing != "" && !optional {
		return nil, false, &op.Error{Code: MissingArgument, Task: l.Declaration.Task, Slot: missing, Want: "the argument that " + c.String() + " names", Got: "none"}
	}
	return groups, missing == "", nil
}

// onStores returns the expanded constraints with stores as operands. The operand of a store is the term of
// its first argument, so that a store that is passed twice is one operand.
func onStores(args []argument, pairs []pair) []Constraint {
	first := map[*Store]Term{}
	for _, a := range args {
		if _, ok := first[a.store]; !ok {
			first[a.store] = a.term
		}
	}
	var out []Constraint
	for _, p := range pairs {
		c := p.c
		c.Terms = []Term{first[p.a.store]}
		if p.b.store != nil {
			c.Terms = append(c.Terms, first[p.b.store])
		}
		out = append(out, c)
	}
	return out
}

// overlaps returns an error for an output whose tiles overlap: the target of a bloat, or of a constraint
// whose source's tiles overlap.
func (l *Launch) overlaps(args []argument, pairs []pair) error {
	grown := map[*Store]bool{}
	for changed := true; changed; {
		changed = false
		for _, p := range pairs {
			if p.b.store != nil && !grown[p.b.store] && (p.c.grows() || grown[p.a.store] && kinds[p.c.Kind].box != nil) {
				grown[p.b.store], changed = true, true
			}
		}
	}
	for _, a := range args {
		if a.group == Outputs && grown[a.store] {
			return overlapping(l.Declaration.Task, a.term.String())
		}
	}
	return nil
}

// Solve checks the launch, and partitions its stores among the processors of a machine.
func (l *Launch) Solve(m Machine) (*Strategy, error) {
	args := l.arguments()
	if err := l.check(m, args); err != nil {
		return nil, err
	}
	if l.Manual {
		domain := slices.Clone(l.Domain)
		if shape.Prod(domain) <= 1 {
			domain = nil // a launch of one leaf is a single task
		}
		return newStrategy(domain, args, nil), nil
	}
	pairs, err := l.pairs(args)
	if err != nil {
		return nil, err
	}
	s := newSolver(m, args, pairs)
	if l.divisible {
		return l.solveDims(s, args), nil
	}
	domain := s.solve()
	return newStrategy(domain, args, s.tilings), nil
}
