package formula

import (
	"slices"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// folding is a kernel of a task that reduces its results into output tensors (perm.Reduce). The inner kernel
// computes the results in temporary memory. The last step reduces them into the tensors.
type folding struct {
	binder
	signature *task.Signature
}

// folded wraps kernel k in a folding if the task reduces into a tensor, and returns k otherwise.
func folded(s *task.Signature, k binder) binder {
	if slices.ContainsFunc(s.Params, func(p task.Param) bool { return p.Perm == perm.Reduce }) {
		return folding{k, s}
	}
	return k
}

func (k folding) bind(a *task.Accessor) ([]op.Body, error) {
	values := map[int][]task.Buffer{} // by slot
	var folds []func()
	for _, p := range k.signature.Params {
		if p.Perm != perm.Reduce {
			continue
		}
		for _, to := range a.Memory(p.Slot, false) {
			from := to
			from.Bytes = make([]byte, len(to.Bytes))
			values[p.Slot] = append(values[p.Slot], from)
			fold, ok := foldInto(p.Redop, to, from)
			if !ok {
				return nil, &op.Error{Operator: k.signature.Operator.FullName(), Task: k.signature.Task, Slot: k.signature.Operator.Slots[p.Slot].Name,
					Want: "elements that " + p.Redop.String() + " folds", Got: to.Type.String()}
			}
			folds = append(folds, fold)
		}
	}
	inner := *a
	inner.Memory = func(slot int, grad bool) []task.Buffer {
		if own, ok := values[slot]; ok && !grad {
			return own
		}
		return a.Memory(slot, grad)
	}
	bodies, err := k.binder.bind(&inner)
	if err != nil {
		return nil, err
	}
	number, last := slices.Index(k.signature.Operator.Signatures, k.signature), -1
	for i := range bodies {
		grid := a.Resolved.Work(number, i)
		if grid.Tiles() > 0 {
			last = i
		}
		bodies[i] = &foldBody{Body: bodies[i], all: grid.Whole()}
	}
	if last >= 0 {
		bodies[last].(*foldBody).folds = folds
	}
	return bodies, nil
}

// foldInto returns a function that reduces the elements of one buffer into another one of the same type and
// shape; ok is false if operator r does not support the type.
func foldInto(r perm.Redop, to, from task.Buffer) (fold func(), ok bool) {
	switch to.Type {
	case dtype.F32:
		return foldEach[float32](r, to, from)
	case dtype.F64:
		return foldEach[float64](r, to, from)
	case dtype.I32:
		return foldEach[int32](r, to, from)
	case dtype.I64:
		return foldEach[int64](r, to, from)
	case dtype.Bool:
		return foldEach[bool](r, to, from)
	}
	return nil, false
}

func foldEach[T dtype.Element](r perm.Redop, to, from task.Buffer) (fold func(), ok bool) {
	join := tensor.Joining[T](r)
	return func() {
		held := as[T](to.Bytes)
		for i, x := range as[T](from.Bytes) {
			held[i] = join(held[i], x)
		}
	}, join != nil
}

// foldBody is a step of a folding. Its first range runs the whole step, so that the order of the reduction is
// deterministic.
type foldBody struct {
	op.Body
	all   op.Range
	folds []func()
}

// Contained reports whether the step runs no foreign code. The code that reduces into the tensors is opgen's
// own.
func (b *foldBody) Contained() bool { return op.IsContained(b.Body) }

func (b *foldBody) Run(ctx *op.Ctx, r op.Range) error {
	for d := range 3 {
		if first, _ := r.Dim(d); first > 0 {
			return nil
		}
	}
	if err := b.Body.Run(ctx, b.all); err != nil {
		return err
	}
	for _, fold := range b.folds {
		fold()
	}
	return nil
}
