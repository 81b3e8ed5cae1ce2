package partition

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/opgen/opgen/runtime/op"
)

// Checker solves the launches of one task on one machine. It caches strategies by the shapes of the stores
// and the pattern in which stores are passed. Several goroutines may use it.
//
// A launch whose strategy depends on more than shapes is not cached: a launch with added constraints, a
// manual one, or one with a store that holds a partition or the values of an image.
type Checker struct {
	declaration *Declaration
	machine     Machine

	last   atomic.Pointer[entry]
	mu     sync.Mutex
	solved map[uint64][]*entry
}

// entry is a cached launch.
type entry struct {
	key      []int
	pattern  int // length of the pattern at the start of key
	strategy *Strategy
	err      error
}

// NewChecker returns a Checker for the launches of a task on a machine.
func NewChecker(d *Declaration, m Machine) *Checker {
	return &Checker{declaration: d, machine: m, solved: map[uint64][]*entry{}}
}

// maxSolved is the capacity of the cache. One more launch empties it.
const maxSolved = 4096

// Launch checks a launch of the checker's task and returns its strategy. Equal launches share one strategy,
// whose stores may be those of an earlier launch: Strategy.Argument finds the partition of an argument by
// its number.
func (c *Checker) Launch(l *Launch) (*Strategy, error) {
	if e := c.last.Load(); e != nil && l.checker == c && l.matches(e) {
		return e.strategy, e.err
	}
	if l.checker != c {
		if l.Declaration.Task != c.declaration.Task || !l.Declaration.Equal(c.declaration) {
			return nil, &op.Error{Task: c.declaration.Task, Want: "a launch of the task, as it is declared", Got: "one of " + l.Declaration.Task}
		}
		l.checker = c
		l.flatten()
	}
	key, ok := l.key()
	if !ok {
		return l.Solve(c.machine)
	}
	hash := uint64(len(key))
	for _, n := range key {
		hash = (hash ^ uint64(n)) * 0x100000001b3
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.solved[hash] {
		if slices.Equal(e.key, key) {
			c.last.Store(e)
			return e.strategy, e.err
		}
	}
	if len(c.solved) >= maxSolved {
		clear(c.solved)
	}
	e := &entry{key: key, pattern: len(l.pattern)}
	e.strategy, e.err = l.Solve(c.machine)
	c.solved[hash] = append(c.solved[hash], e)
	c.last.Store(e)
	return e.strategy, e.err
}

// plain reports whether the strategy depends only on the shapes of stores and their pattern.
func (l *Launch) plain() bool { return !l.Manual && len(l.added) == 0 }

// plain reports whether a strategy depends only on the store's shape and element type.
func (s *Store) plain() bool { return s.Held == nil && s.Values == nil }

// flatten computes the pattern in which stores are passed: the dimensions along which the task may be
// divided and, for each slot, the number of scalars and stores, and the identity of each store. Only Add,
// AddScalars and SetDims change the pattern; the shapes of stores may change at any time.
func (l *Launch) flatten() {
	l.pattern, l.distinct = l.dimsKey(), nil
	for slot, stores := range l.stores {
		l.pattern = append(l.pattern, l.scalars[slot], len(stores))
		for _, s := range stores {
			i := slices.Index(l.distinct, s)
			if i < 0 {
				i = len(l.distinct)
				l.distinct = append(l.distinct, s)
			}
			l.pattern = append(l.pattern, i)
		}
	}
}

// key returns the cache key: the pattern, and the form and extents of each store. ok is false if the launch
// cannot be cached.
func (l *Launch) key() (key []int, ok bool) {
	if !l.plain() {
		return nil, false
	}
	key = slices.Clone(l.pattern)
	for _, s := range l.distinct {
		if !s.plain() {
			return nil, false
		}
		element, dims := s.form()
		key = append(key, element, dims)
		key = append(key, s.Shape...)
	}
	return key, true
}

// form encodes the element type and the rank of a store as two integers.
func (s *Store) form() (element, dims int) {
	element = s.Element.Bytes<<16 | s.Element.Points<<8 | s.Element.Rects
	dims = s.Rank<<9 | len(s.Shape)<<1
	if s.Unbound {
		dims |= 1
	}
	return element, dims
}

// matches reports whether a launch has the key of an entry, without an allocation.
func (l *Launch) matches(e *entry) bool {
	if !l.plain() || e.pattern != len(l.pattern) || !slices.Equal(l.pattern, e.key[:e.pattern]) {
		return false
	}
	key := e.key[e.pattern:]
	for _, s := range l.distinct {
		n := len(s.Shape)
		element, dims := s.form()
		if n+2 > len(key) || key[0] != element || key[1] != dims || !s.plain() || !slices.Equal(s.Shape, key[2:n+2]) {
			return false
		}
		key = key[n+2:]
	}
	return len(key) == 0
}
