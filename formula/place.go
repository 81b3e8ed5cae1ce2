package formula

import (
	"slices"
	"unsafe"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// layout maps the tensors of a program to the memory of a task.
type layout struct {
	kernel   loopKernel
	accessor *task.Accessor
	program  *program.Program
	between  map[int]int // tensor -> its gradient, for intermediate values of the task
	task     int
	tensors  []rewrite.Tensor
	memory   [][]byte
	given    []bool // by tensor: whether the task reads the elements as input
	wanted   []bool // by tensor: whether the task must compute the elements
	places   map[int]bufferPlace
	listed   bool // whether the code will be listed
	// For kernels that compute tiles of rows: axes is the number of axes of a row. The other fields are
	// results of derive.Rows.
	axes    int
	rows    []int                    // extents of the axes of rows
	touches map[int]region.Footprint // by tensor: the elements that a row accesses
}

// gradientIn reports whether the task reads the gradient of a slot.
func (l *layout) gradientIn(slot int) bool {
	return slices.ContainsFunc(l.kernel.signature.Params, func(p task.Param) bool { return p.Grad && p.Slot == slot && p.Perm.Reads() })
}

// buffer returns the memory of a slot's tensor, or of its gradient. The buffer has no type if the task does
// not get the tensor.
func (l *layout) buffer(slot, number int, grad bool) task.Buffer {
	for _, p := range l.kernel.signature.Params {
		if p.Slot == slot && p.Grad == grad && (p.Grad || l.accessor.Resolved.Takes(l.task, slot)) {
			if m := l.accessor.Memory(slot, grad); number < len(m) {
				return m[number]
			}
		}
	}
	return task.Buffer{}
}

// place binds the tensors of the program to the memory of the task's parameters.
func (l *layout) place(gradients map[int]int) {
	n := len(l.program.Tensors)
	l.tensors, l.memory = make([]rewrite.Tensor, n), make([][]byte, n)
	l.given, l.wanted = make([]bool, n), make([]bool, n)
	for i := range n {
		l.tensors[i] = rewrite.Tensor{Memory: i, Local: true}
	}
	l.places = map[int]bufferPlace{}
	for param, p := range l.kernel.signature.Params {
		if !p.Grad && !l.accessor.Resolved.Takes(l.task, p.Slot) {
			continue
		}
		for number, b := range l.accessor.Memory(p.Slot, p.Grad) {
			t := slices.IndexFunc(l.program.Tensors, func(t *program.Local) bool { return t.Slot == p.Slot && t.Number == number })
			if t < 0 || b.Type == dtype.Invalid || b.Bytes == nil && b.Operand.Bytes() > 0 {
				continue
			}
			if p.Grad {
				g, ok := gradients[t]
				if !ok {
					g = l.add(&program.Local{Name: "grad." + l.program.Tensors[t].Name, Shape: l.program.Tensors[t].Shape, Kind: term.Real, Old: -1})
					gradients[t] = g
				}
				t = g
			}
			l.tensors[t] = rewrite.Tensor{Type: b.Type, Memory: t, Add: p.Grad && p.Perm.Writes() && b.Mode == tensor.Accumulate}
			if bound, bounded := l.accessor.Resolved.Bound(p.Slot); bounded && !bound.HasExcept && !p.Grad && !p.Perm.Writes() {
				l.tensors[t].Below = bound.Below
			}
			l.memory[t], l.places[t] = b.Bytes, bufferPlace{param, number}
			l.given[t], l.wanted[t] = p.Perm.Reads() && !(p.Grad && p.Perm.Writes()), p.Perm.Writes()
		}
	}
	l.placePassed()
	l.placeScratch()
	for t, g := range gradients { // an unwanted gradient is rounded as a wanted one
		if l.tensors[g].Local {
			l.tensors[g].Type = l.hostOf(t)
		}
	}
	l.share()
	for i, t := range l.program.Tensors {
		if t.Old >= 0 {
			l.tensors[i], l.memory[i], l.given[i] = l.tensors[t.Old], l.memory[t.Old], true
			l.tensors[i].Add = false
		}
	}
}

// placeScratch binds the gradients of intermediate tensors to the scratch slots that are declared for them.
func (l *layout) placeScratch() {
	for param, p := range l.kernel.signature.Params {
		name := l.kernel.signature.Operator.Slots[p.Slot].GradOf
		if name == "" || p.Grad || !l.accessor.Resolved.Takes(l.task, p.Slot) {
			continue
		}
		m := l.accessor.Memory(p.Slot, false)
		for t, g := range l.between {
			of := l.program.Tensors[t]
			if of.Name != name || of.Number >= len(m) {
				continue
			}
			if b := m[of.Number]; b.Type.IsFloat() && b.Type == b.Type.Host() && len(b.Bytes) == count(of)*b.Type.Size() {
				l.tensors[g].Type, l.tensors[g].Planned = b.Type, true
				l.memory[g], l.places[g] = b.Bytes, bufferPlace{param, of.Number}
			}
		}
	}
}

// hostOf returns the type in which host kernels hold a slot's tensor.
func (l *layout) hostOf(t int) dtype.Type {
	local := l.program.Tensors[t]
	if o := l.accessor.Resolved.Operands(local.Slot); local.Number < len(o) {
		return o[local.Number].Type.Host()
	}
	return dtype.Invalid
}

// share finds the tensors that are in the same memory.
func (l *layout) share() {
	first := map[*byte]int{}
	for i, m := range l.memory {
		if len(m) == 0 || l.tensors[i].Memory != i {
			continue
		}
		if j, ok := first[unsafe.SliceData(m)]; ok {
			l.tensors[i].Memory = j
		} else {
			first[unsafe.SliceData(m)] = i
		}
	}
}

// add adds a tensor to the program, and returns its number.
func (l *layout) add(t *program.Local) int {
	l.tensors = append(l.tensors, rewrite.Tensor{})
	l.memory = append(l.memory, nil)
	l.given, l.wanted = append(l.given, false), append(l.wanted, false)
	return l.program.Add(t)
}
