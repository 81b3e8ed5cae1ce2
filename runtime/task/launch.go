package task

import (
	"sync"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
)

// Store returns a tensor as launches see it. An integer points to an element of a tensor of one dimension.
func Store(name string, o Operand) *partition.Store {
	e := partition.Element{Name: o.Type.String(), Bytes: o.Type.Size()}
	if o.Type == dtype.I32 || o.Type == dtype.I64 {
		e.Points = 1
	}
	return &partition.Store{Name: name, Shape: o.Shape, Element: e}
}

// Launch returns the launch of the task with stores for each parameter. passed holds, by slot, the values
// that the caller passes, and added the constraints besides those of the task. A task that declares no
// constraints is divided along the dimensions of the operator's shards only. Errors say which constraint
// cannot be added.
func (s *Signature) Launch(res *Resolution, stores [][]*partition.Store, passed map[int][]any, added []partition.Constraint) (*partition.Launch, error) {
	d, err := s.declared(res)
	if err != nil {
		return nil, s.about(err)
	}
	l := partition.New(d)
	if !s.Constraints.Declared {
		l.SetDims(s.dims(res))
	}
	for i, p := range s.Params {
		if p.Perm == perm.Scratch || len(stores[i]) == 0 {
			continue
		}
		if err := l.Add(s.ParamName(i), stores[i]...); err != nil {
			return nil, s.about(err)
		}
	}
	for _, a := range s.Args {
		if a.From == FromCall {
			if err := l.AddScalars(s.Operator.Slots[a.Slot].Name, len(passed[a.Slot])); err != nil {
				return nil, s.about(err)
			}
		}
	}
	for _, c := range added {
		c, applies, err := s.numbered(res, c)
		if err == nil && applies {
			err = l.AddConstraint(c)
		}
		if err != nil {
			return nil, s.about(err)
		}
	}
	return l, nil
}

// limits checks a launch of the task against its constraints and returns what they demand from tiles; nil if
// there are no constraints.
func (s *Signature) limits(res *Resolution, stores [][]*partition.Store, passed map[int][]any, added []partition.Constraint) (*partition.Limits, error) {
	if len(s.Constraints.List) == 0 && len(added) == 0 {
		return nil, nil
	}
	l, err := s.Launch(res, stores, passed, added)
	if err != nil {
		return nil, err
	}
	limits, err := l.Limits()
	return limits, s.about(err)
}

// A Limiter finds the limits of launches, and keeps those of launches that are alike: of uses that share a
// Resolution. The zero Limiter is ready to use, and nil keeps nothing. It is safe for concurrent use, since
// several planners may read one program.
type Limiter struct {
	mu    sync.Mutex
	known map[alike]*partition.Limits
}

// alike is what launches without added constraints have in common that have the same limits.
type alike struct {
	signature *Signature
	resolved  *Resolution // that uses share which are alike
	tensors   string      // types and shapes, which of them are the same tensor, and numbers of values that the caller passes
}

// Limits checks a launch of a task against its constraints, and returns the limits that they impose on tiles.
// It returns nil if there are no constraints.
func (l *Limiter) Limits(s *Signature, res *Resolution, stores [][]*partition.Store, passed map[int][]any, added []partition.Constraint) (*partition.Limits, error) {
	if l == nil || len(s.Constraints.List) == 0 || len(added) > 0 {
		return s.limits(res, stores, passed, added)
	}
	key := alike{s, res, tensorsOf(s, stores, passed)}
	l.mu.Lock()
	limits, ok := l.known[key]
	l.mu.Unlock()
	if ok {
		return limits, nil
	}
	limits, err := s.limits(res, stores, passed, added)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[alike]*partition.Limits{}
	}
	l.known[key] = limits
	return limits, nil
}

// tensorsOf describes the tensors of a launch.
func tensorsOf(s *Signature, stores [][]*partition.Store, passed map[int][]any) string {
	var key []byte
	extents := func(list ...int) { key = appendExtents(key, list) }
	first := map[*partition.Store]int{}
	for _, list := range stores {
		extents(len(list))
		for _, x := range list {
			n, ok := first[x]
			if !ok {
				n = len(first)
				first[x] = n
			}
			extents(n, len(x.Element.Name))
			key = append(key, x.Element.Name...)
			extents(x.Shape...)
		}
	}
	for i := range s.Args {
		extents(len(passed[s.Args[i].Slot]))
	}
	return string(key)
}

// CheckAdded reports a constraint that no launch of the task may add: one without the form of its kind, one
// on what the task does not have, or any if the task declares its constraints.
func (s *Signature) CheckAdded(c partition.Constraint) error {
	if s.Constraints.Declared {
		return s.about(&op.Error{Code: partition.ConstraintsLocked, Want: "only the constraints that the task declares", Got: c.String()})
	}
	return s.about(s.Declaration().CheckForm(c))
}

// about names the operator and the task in an error of a launch.
func (s *Signature) about(err error) error {
	if e, ok := err.(*op.Error); ok && e.Operator == "" {
		named := *e
		named.Operator, named.Task = s.Operator.FullName(), s.Task
		return &named
	}
	return err
}
