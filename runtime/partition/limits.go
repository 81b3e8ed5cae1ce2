package partition

import "slices"

// Limits holds the lower bounds that the constraints of a launch impose on the tiles of its stores.
type Limits struct {
	launch *Launch
	of     map[*Store]Limit
}

// Limit is the bound on the tiles of one store.
type Limit struct {
	// Extents holds the minimum extent of a tile on each axis; 0 is no bound.
	Extents []int
	// Whole marks the axes that must not be partitioned.
	Whole []bool
}

// Limits checks a launch against the constraints of its task and the added ones, and returns the bounds that
// they impose on tiles. Aligned stores share their bounds.
func (l *Launch) Limits() (*Limits, error) {
	args := l.arguments()
	if err := l.counts(); err != nil {
		return nil, err
	}
	pairs, err := l.pairs(args)
	if err != nil {
		return nil, err
	}
	out := &Limits{launch: l, of: map[*Store]Limit{}}
	s := newSolver(Machine{}, args, pairs)
	for x, c := range s.of {
		out.of[x] = Limit{slices.Clone(c.extents), slices.Clone(c.broadcast)}
	}
	return out, nil
}

// Of returns the limit of argument i of a slot; the zero Limit if there is none, or if l is nil.
func (l *Limits) Of(slot string, i int) Limit {
	if l == nil {
		return Limit{}
	}
	for n, s := range l.launch.Declaration.Slots() {
		if s.Name == slot && i < len(l.launch.stores[n]) {
			return l.of[l.launch.stores[n][i]]
		}
	}
	return Limit{}
}

// pairs expands the constraints to arguments, and checks them.
func (l *Launch) pairs(args []argument) ([]pair, error) {
	pairs, err := l.expand()
	if err != nil {
		return nil, err
	}
	for i := range pairs {
		p := &pairs[i]
		err := p.spread()
		if err == nil {
			err = p.check()
		}
		if err != nil {
			err.Task = l.Declaration.Task
			return nil, err
		}
	}
	if err := checkDependents(l.Declaration.Task, onStores(args, pairs)); err != nil {
		return nil, err
	}
	return pairs, l.overlaps(args, pairs)
}
