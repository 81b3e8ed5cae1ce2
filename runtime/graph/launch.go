package graph

import (
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// Launch returns the launch of an invocation: its tensors as stores, its constraints, and the values
// that its caller passes. A partition.Checker partitions it for a machine.
func (inv *Invocation) Launch() (*partition.Launch, error) {
	l, err := inv.launch()
	if err != nil {
		return nil, err
	}
	for _, c := range inv.Added {
		if err := l.AddConstraint(c); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// launch is Launch without the added constraints.
func (inv *Invocation) launch() (*partition.Launch, error) {
	sig := inv.Signature
	l := partition.New(sig.Declaration())
	stores := map[*info]*partition.Store{}
	for i, p := range sig.Params {
		if p.Perm == perm.Scratch {
			continue
		}
		for _, t := range inv.Operands[i] {
			if !t.Valid() {
				continue // an unused gradient among several
			}
			s := stores[t.info]
			if s == nil {
				s = &partition.Store{Name: t.name, Shape: t.operand.Shape, Element: element(t.operand.Type)}
				stores[t.info] = s
			}
			if err := l.Add(sig.ParamName(i), s); err != nil {
				return nil, err
			}
		}
	}
	for _, a := range sig.Args {
		if a.From == task.FromCall {
			if err := l.AddScalars(sig.Operator.Slots[a.Slot].Name, len(inv.Passed[a.Slot])); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

// element returns an element type as launches see it: an integer points to an element of a tensor of
// one dimension.
func element(t dtype.Type) partition.Element {
	e := partition.Element{Name: t.String(), Bytes: t.Size()}
	if t == dtype.I32 || t == dtype.I64 {
		e.Points = 1
	}
	return e
}
