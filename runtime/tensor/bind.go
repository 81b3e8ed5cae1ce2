package tensor

import (
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/internal/unlock"
	"github.com/opgen/opgen/runtime/perm"
)

// Memory describes the memory of a view, with which the view is bound to a task. Only packages of the runtime
// can seal memory.
type Memory struct {
	Data  unlock.Memory[byte] // row-major elements, aligned for their type; none of a gradient that is not used
	Shape []int
	Size  int        // the number of elements that the shape has
	Lanes int        // the dimension that lanes run along
	Mode  Mode       // of a gradient
	Redop perm.Redop // of a reduction
	Fold  any        // of a reduction by a function of the module's own: a func(x, y T) T; else nil
}

// Access is the kind of access that a view permits.
type Access uint8

const (
	Reads       Access = iota // RO
	Writes                    // WO
	Changes                   // RW
	Folds                     // Reduction
	Contributes               // Grad
	Scatters                  // Scatter
	Keeps                     // PerWorker
)

// View is a pointer to a view: *RO, *WO, *RW, *Reduction, *Grad, *Scatter or *PerWorker.
type View interface {
	describe() (dtype.Type, Access)
	bind(m []Memory) bool
}

// Describe returns the element type of a view and what the view permits.
func Describe(v View) (dtype.Type, Access) { return v.describe() }

// Bind returns a view of memory: a *PerWorker views the memory of all workers, another view that of the
// first. It returns false if a *Reduction has no function that combines its elements.
func Bind(v View, m ...Memory) bool { return v.bind(m) }

// of returns the memory as elements of type T.
func of[T dtype.Element](m Memory) unlock.Memory[T] {
	data := unlock.Open(m.Data)
	switch {
	case data == nil:
		return unlock.Seal[T](nil)
	case m.Size == 0:
		return unlock.Seal([]T{})
	}
	return unlock.Seal(unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), m.Size))
}

func (v *RO[T]) describe() (dtype.Type, Access)        { return dtype.Of[T](), Reads }
func (v *WO[T]) describe() (dtype.Type, Access)        { return dtype.Of[T](), Writes }
func (v *RW[T]) describe() (dtype.Type, Access)        { return dtype.Of[T](), Changes }
func (v *Reduction[T]) describe() (dtype.Type, Access) { return dtype.Of[T](), Folds }
func (v *Grad[T]) describe() (dtype.Type, Access)      { return dtype.Of[T](), Contributes }
func (v *Scatter[T]) describe() (dtype.Type, Access)   { return dtype.Of[T](), Scatters }
func (v *PerWorker[T]) describe() (dtype.Type, Access) { return dtype.Of[T](), Keeps }

func (v *RO[T]) bind(m []Memory) bool {
	*v = MakeRO(of[T](m[0]), m[0].Shape).Along(m[0].Lanes)
	return true
}

func (v *WO[T]) bind(m []Memory) bool {
	*v = MakeWO(of[T](m[0]), m[0].Shape).Along(m[0].Lanes)
	return true
}

func (v *RW[T]) bind(m []Memory) bool {
	*v = MakeRW(of[T](m[0]), m[0].Shape).Along(m[0].Lanes)
	return true
}

func (v *Reduction[T]) bind(m []Memory) (ok bool) {
	if fold, own := m[0].Fold.(func(x, y T) T); own {
		*v = makeOwnReduction(of[T](m[0]), m[0].Shape, fold)
		return true
	}
	*v, ok = MakeReduction(of[T](m[0]), m[0].Shape, m[0].Redop)
	return ok
}

func (v *Grad[T]) bind(m []Memory) bool {
	*v = MakeGrad(of[T](m[0]), m[0].Shape, m[0].Size, m[0].Mode).Along(m[0].Lanes)
	return true
}

func (v *Scatter[T]) bind(m []Memory) bool {
	*v = MakeScatter(of[T](m[0]), m[0].Shape, m[0].Size).Along(m[0].Lanes)
	return true
}

func (v *PerWorker[T]) bind(m []Memory) bool {
	own := make([]RW[T], len(m))
	for i := range m {
		own[i].bind(m[i : i+1])
	}
	*v = MakePerWorker(own)
	return true
}

// Optional is a pointer to an Opt of a view.
type Optional interface {
	// view marks the Opt as present and returns the view that it holds.
	view() View
}

// Present marks an Opt as present and returns a pointer to the view that it holds.
func Present(o Optional) View { return o.view() }

func (o *Opt[V]) view() View {
	o.ok = true
	v, _ := any(&o.v).(View)
	return v
}
