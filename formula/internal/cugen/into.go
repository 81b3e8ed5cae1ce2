package cugen

import (
	"fmt"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/perm"
)

// Into is a tensor into which a task folds values with an operator. The statements give these values.
type Into struct {
	Tensor int
	Redop  perm.Redop
	typ    dtype.Type // of the tensor's elements
}

// apart gives the values that are folded into tensors memory of their own. Numbers of 16 bits are kept with
// more digits, and integers in 64 bits, which hold the least and the greatest of no elements.
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

// into folds values into what a tensor holds. A thread folds an element once.
func (g *generator) into(x Into) {
	n := g.elements(x.Tensor)
	if n == 0 {
		return
	}
	f := g.function(nil)
	f.comment = fmt.Sprintf("// %s is folded into what the tensor holds, with the operator %v.\n", oneLine(g.p.Tensors[x.Tensor].Name), x.Redop)
	values, to := f.memory(x.Tensor, false), f.unique("to")
	f.rooms = append(f.rooms, room{ctypes[x.typ] + " *__restrict__ " + to, gpu.Arg{Kind: gpu.Tensor, Index: x.Tensor}})
	f.open("for (long long i = opgen_thread(); i < %d; i += opgen_threads()) {", n)
	joined := fmt.Sprintf(joins(x.Redop, x.typ), fmt.Sprintf("opgen_load(%s, i)", to), fmt.Sprintf("opgen_load(%s, i)", values))
	f.line("opgen_store(%s, i, %s);", to, joined)
	f.close()
	f.grid = [3]int{blocksFor(n, threads), 1, 1}
	f.finish()
}

// joins returns how an operator joins two elements of a type, as a format of both; "" if it does not.
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
