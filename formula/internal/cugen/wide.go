package cugen

import (
	"fmt"
	"math"
	"slices"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
)

// A thread computes a vector of neighboring elements if it can load and store them by 16-byte accesses. Such
// an access takes as long as one of 4 bytes, and the number of accesses in flight is limited.
const (
	accessBytes = 16
	leastWide   = 1 << 18 // elements; with fewer, more threads are faster
)

// wide describes the vectorized loop of a kernel.
type wide struct {
	lanes int
	last  *term.Variable // the vectorized index
	group *term.Variable // the index of vectors
	vars  []*term.Variable
	first string // name of the index of the vector's first element
	lane  string // name of the current lane
	list  []*access
}

// access is a load or store of a vector at one address. A local array holds the vector.
type access struct {
	name, at       string
	tensor, memory int
	loads, stores  bool
}

// wideOf returns how statements are vectorized, or nil if a vector is illegal or does not pay.
func (f *function) wideOf(vars []*term.Variable, statements []*loops.Nested) *wide {
	if len(vars) == 0 || box(vars) < leastWide || slices.ContainsFunc(vars, rewrite.IsOpen) {
		return nil
	}
	w := &wide{last: vars[len(vars)-1], vars: vars}
	size := 1
	var reads, writes []*term.Read
	for _, s := range statements {
		if s.Guard != nil || s.Left.Which != nil {
			return nil
		}
		left := *s.Left
		left.Tensor = s.Target
		writes = append(writes, &left)
		few := true
		s.Value.Walk(func(n *term.Term) {
			few = few && n.Op != term.Reduce
			if n.Op == term.Element {
				reads = append(reads, n.Read)
			}
		})
		if !few {
			return nil
		}
	}
	for _, r := range slices.Concat(writes, reads) {
		if s, known := rewrite.Stride(r, w.last); known && s == 0 && !slices.Contains(writes, r) {
			continue
		}
		size = max(size, f.tensors[r.Tensor].Type.Size())
	}
	w.lanes = accessBytes / size
	if w.lanes < 2 || rewrite.Extent(w.last)%w.lanes != 0 {
		return nil
	}
	for _, r := range writes {
		if !f.neighbors(w, r) || !f.sameElsewhere(w, r, slices.Concat(writes, reads)) {
			return nil
		}
	}
	for _, r := range reads {
		if s, known := rewrite.Stride(r, w.last); (!known || s != 0 || r.Which != nil) && !f.neighbors(w, r) {
			return nil
		}
	}
	w.group = &term.Variable{Name: "group", Lo: term.Number(0), Hi: term.Number(rewrite.Extent(w.last) / w.lanes)}
	return w
}

// neighbors reports whether the access has stride 1 along the vectorized index and is aligned to the vector.
func (f *function) neighbors(w *wide, r *term.Read) bool {
	base, linear := rewrite.Offset(r)
	if !linear || base%w.lanes != 0 || !f.aligned(r.Tensor) {
		return false
	}
	for _, v := range w.vars {
		s, known := rewrite.Stride(r, v)
		if v == w.last && s != 1 || v != w.last && s%w.lanes != 0 || !known {
			return false
		}
	}
	return true
}

// sameElsewhere reports whether all accesses that may alias the store are to the same address as the store.
func (f *function) sameElsewhere(w *wide, written *term.Read, all []*term.Read) bool {
	for _, r := range all {
		if f.tensors[r.Tensor].Memory != f.tensors[written.Tensor].Memory {
			continue
		}
		a, known := rewrite.Offset(written)
		b, linear := rewrite.Offset(r)
		same := known && linear && a == b && f.tensors[r.Tensor].Type == f.tensors[written.Tensor].Type
		for _, v := range w.vars {
			a, known := rewrite.Stride(written, v)
			b, linear := rewrite.Stride(r, v)
			same = same && known && linear && a == b
		}
		if !same {
			return false
		}
	}
	return true
}

// groups returns vars with the vectorized index, the last one, replaced by the index of vectors.
func (w *wide) groups(vars []*term.Variable) []*term.Variable {
	return append(slices.Clone(vars[:len(vars)-1]), w.group)
}

// grouped writes statements for a vector of elements. The index of the vector is declared.
func (f *function) grouped(w *wide, statements []*loops.Nested) {
	typ := "int"
	if rewrite.Extent(w.last) > math.MaxInt32 {
		typ = "long long"
	}
	w.first = f.name(typ, "begin", fmt.Sprintf("%s * %d", f.names[w.group], w.lanes))
	w.lane = f.unique("lane")
	f.wide = w
	lines, _ := f.apart(func() string {
		f.line("#pragma unroll")
		f.open("for (int %s = 0; %s < %d; %s++) {", w.lane, w.lane, w.lanes, w.lane)
		f.names[w.last] = f.name(typ, w.last.Name, w.first+" + "+w.lane)
		for _, s := range statements {
			f.statement(s)
		}
		f.close()
		return ""
	})
	f.wide = nil
	for _, x := range w.list {
		kind := fmt.Sprintf("opgen_wide<%s, %d> %s", ctypes[f.tensors[x.tensor].Type], w.lanes, x.name)
		switch {
		case x.loads && x.stores:
			f.line("%s = opgen_wide_load<%d>(%s, %s);", kind, w.lanes, f.memory(x.tensor, false), x.at)
		case x.loads:
			f.line("const %s = opgen_wide_load<%d>(%s, %s);", kind, w.lanes, f.memory(x.tensor, false), x.at)
		default:
			f.line("%s;", kind)
		}
	}
	for _, l := range lines { // apart has indented them for a block
		f.body = append(f.body, l[1:])
	}
	for _, x := range w.list {
		if x.stores {
			f.line("opgen_wide_store(%s, %s, %s);", f.memory(x.tensor, true), x.at, x.name)
		}
	}
	f.forget()
}

// held returns the local array that holds the vector of an access, and the name of the lane in it. ok is
// false if the access is not vectorized. writes says that the access is a store, and adds that the store adds
// to the element.
func (f *function) held(r *term.Read, writes, adds bool) (array, at string, ok bool) {
	w := f.wide
	if w == nil || r.Which != nil || !f.neighbors(w, r) {
		return "", "", false
	}
	name := f.names[w.last]
	f.names[w.last] = w.first
	place, _ := f.place(r)
	f.names[w.last] = name
	memory := f.tensors[r.Tensor].Memory
	i := slices.IndexFunc(w.list, func(x *access) bool { return x.memory == memory && x.at == place })
	if i < 0 {
		i = len(w.list)
		w.list = append(w.list, &access{name: f.unique(f.p.Tensors[r.Tensor].Name + "_group"), at: place, tensor: r.Tensor, memory: memory, loads: !writes || adds})
		f.memory(r.Tensor, writes)
	}
	if x := w.list[i]; writes {
		x.stores, x.tensor = true, r.Tensor
	}
	return w.list[i].name + ".v", w.lane, true
}
