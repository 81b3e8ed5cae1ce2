package cugen

import (
	"fmt"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/perm"
)

// Into is an output tensor into which a task reduces its results. The statements compute the results only.
type Into struct {
	Tensor int
	Redop  perm.Redop
	typ    dtype.Type // the element type of the output, before apart changes that of the tensor
}

// apart redirects the results that folds names to local tensors, from which another kernel reduces them into
// the outputs. 16-bit floats become the compute type, for precision. int32 becomes int64, which can hold the
// identities of min and max.
func (g *generator) apart(folds []Into) error {
	for i := range folds {
		x := &folds[i]
		t := &g.tensors[x.Tensor]
		x.typ = t.Type
		if joins(x.Redop, t.Type) == "" {
			return fmt.Errorf("there is no device code that folds elements of type %v of %s with the operator %v", t.Type, g.p.Tensors[x.Tensor].Name, x.Redop)
		}
		t.Local = true
		switch x.typ {
		case dtype.F16, dtype.BF16:
			t.Type = g.own
		case dtype.I32:
			t.Type = dtype.I64
		}
	}
	return nil
}

// into writes the kernel that reduces computed results into an output. One thread handles one element.
func (g *generator) into(x Into) {
	n := g.elements(x.Tensor)
	if n == 0 {
		return
	}
	f := g.function(nil)
	f.comment = fmt.Sprintf("// %s is folded into what the tensor holds, with the operator %v.\n", oneLine(g.p.Tensors[x.Tensor].Name), x.Redop)
	values, to := f.memory(x.Tensor, false), f.unique("to")
	f.rooms = append(f.rooms, room{ctypes[x.typ] + " *__restrict__ ", to, gpu.Arg{Kind: gpu.Tensor, Index: x.Tensor}})
	f.open("for (long long i = opgen_thread(grid); i < %d; i += opgen_threads(grid)) {", n)
	joined := fmt.Sprintf(joins(x.Redop, x.typ), fmt.Sprintf("opgen_load(%s, i)", to), fmt.Sprintf("opgen_load(%s, i)", values))
	f.line("opgen_store(%s, i, %s);", to, joined)
	f.close()
	f.grid = [3]int{blocksFor(n, threads), 1, 1}
	f.finish()
}

// joins returns the C expression, with two %s, by which a reduction operator combines two elements of a
// type, or "" if the operator does not support the type.
func joins(r perm.Redop, t dtype.Type) string {
	switch t {
	case dtype.F16, dtype.BF16, dtype.F32, dtype.F64:
		return map[perm.Redop]string{perm.Sum: "%s + %s", perm.Prod: "%s * %s", perm.Min: "opgen_min(%s, %s)", perm.Max: "opgen_max(%s, %s)"}[r]
	case dtype.I32, dtype.I64:
		return map[perm.Redop]string{perm.Sum: "%s + %s", perm.Prod: "%s * %s", perm.Min: "opgen_smaller(%s, %s)", perm.Max: "opgen_greater(%s, %s)",
			perm.Or: "%s | %s", perm.And: "%s & %s", perm.Xor: "%s ^ %s"}[r]
	case dtype.Bool:
		return map[perm.Redop]string{perm.Or: "%s || %s", perm.And: "%s && %s", perm.Xor: "%s != %s"}[r]
	}
	return ""
}
