package formula

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/oracle"
	"github.com/opgen/opgen/runtime/dtype"
)

// compareWithin is compareLoops with a tolerance for f64. It returns an error if loops do not support the
// formula.
func compareWithin(t *testing.T, text string, typ dtype.Type, rows, cols int, tolerance float64) error {
	t.Helper()
	p, err := program.Build(useOfTest(t, text, typ, rows, cols))
	if err != nil {
		t.Error(err)
		return nil
	}
	var outputs []int
	for i, l := range p.Tensors {
		if l.Given && l.Slot >= 0 && l.Varies && l.Kind == term.Real {
			outputs = append(outputs, i)
		}
	}
	var of map[int]int
	if g, err := derive.Gradients(p, outputs); err == nil && !(rows*cols > 1000 && scans(p)) { // the interpreter takes a minute for them
		p, of = g.Program, g.Of
	}
	means := func(given, memory [][]byte) string { return meaning(t, text, typ, rows, cols, p, of, given, memory) }
	return compareProgram(t, p, typ, cols, false, tolerance, means)
}

// compareTensors compares the tensors in memory with those of the interpreter. It describes the first
// difference in each tensor that differs.
func compareTensors(p *program.Program, tensors []rewrite.Tensor, memory [][]byte, ref *memory, typ dtype.Type, tolerance float64) (out []string) {
	for i, l := range p.Tensors[:len(tensors)] {
		if !l.Given || tensors[i].Local {
			continue
		}
		got := newElements(l.Kind, count(l))
		got.load(tensors[i].Type, memory[i])
		for k := range count(l) {
			d := apart(got.at(k), ref.tensors[i].at(k), typ, tolerance)
			if l.Kind == term.Integer && got.integer[k] != ref.tensors[i].integer[k] {
				d = fmt.Sprintf("got %d, want %d", got.integer[k], ref.tensors[i].integer[k])
			}
			if d != "" {
				out = append(out, fmt.Sprintf("%s, element %d: %s", l.Name, k, d))
				break
			}
		}
	}
	return out
}

// meaning compares results and gradients in memory with the mathematical meaning of the formula, with bounds
// on rounding errors. It returns the first difference that exceeds its bound. It permits that loops select
// another extreme than the interpreter among numbers that are equal but for rounding. of maps tensors to
// their gradients.
func meaning(t *testing.T, text string, typ dtype.Type, rows, cols int, p *program.Program, of map[int]int, given, memory [][]byte) string {
	t.Helper()
	o, attrs, r := operatorOf(t, text, typ, rows, cols)
	u, err := oracle.Of(o, attrs, r, 0, nil)
	if err != nil {
		return err.Error()
	}
	read := func(memory [][]byte, i int) elements {
		l := p.Tensors[i]
		e := newElements(l.Kind, count(l))
		if l.Kind == term.Integer {
			copy(e.integer, unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(memory[i]))), count(l)))
		} else {
			e.load(typ, memory[i])
		}
		return e
	}
	q := oracle.Question{Seeds: map[string][][]float64{}}
	tensors := map[string]int{}
	for i, l := range p.Tensors {
		if l.Slot < 0 || l.Old >= 0 {
			continue
		}
		name := o.Slots[l.Slot].Name
		tensors[name] = i
		switch g, found := of[i]; {
		case l.Given && found:
			q.Seeds[name] = [][]float64{read(given, g).real}
		case !l.Given:
			x := u.Slot(name).Tensors[0]
			e := read(given, i)
			x.Real, x.Whole = e.real, e.integer
			for k := 0; found && k < count(l); k += 1 + count(l)/64 {
				q.Places = append(q.Places, oracle.Place{Slot: name, Number: k})
			}
		}
	}
	for i, s := range o.Slots { // inputs that the formula does not read
		if x := u.Slot(s.Name); tensors[s.Name] == 0 && x != nil && len(x.Tensors) > 0 && i <= slotJ {
			if e := x.Tensors[0]; e.Type.IsFloat() && e.Real == nil {
				e.Real = make([]float64, rows*cols)
			} else if e.Whole == nil {
				e.Whole = make([]int64, rows)
			}
		}
	}
	answer, err := u.Answer(q)
	if errors.Is(err, oracle.ErrAmbiguous) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	for name, list := range answer.Results {
		got := read(memory, tensors[name])
		for k, x := range list[0].Elements {
			if d := farther(got.at(k), x, typ); d != "" {
				return fmt.Sprintf("%s, element %d: %s", name, k, d)
			}
		}
	}
	for i, place := range q.Places {
		g := of[tensors[place.Slot]]
		want := answer.Gradients[i]
		first := slices.IndexFunc(p.Statements, func(s *program.Statement) bool { return s.Target == g })
		if p.Statements[first].Add { // to what is there
			want.Real += read(given, g).at(place.Number)
			want.Bound += roundingOfSums
		}
		if d := farther(read(memory, g).at(place.Number), want, typ); d != "" {
			return fmt.Sprintf("gradient of %s, element %d: %s", place.Slot, place.Number, d)
		}
	}
	return ""
}

// farther describes the difference of a number from the exact one if it exceeds the bound on rounding. It
// returns "" otherwise.
func farther(got float64, want oracle.Element, typ dtype.Type) string {
	if math.IsNaN(want.Real) || want.Allows(got, typ) {
		return ""
	}
	return fmt.Sprintf("got %v, want %v within %v", got, want.Real, want.Bound)
}

// TestMeaning changes a correct result and correct gradients, and checks that meaning finds the change.
func TestMeaning(t *testing.T) {
	text := "y[n, k] = x[n, k] * w[n, 0]"
	p, err := program.Build(useOfTest(t, text, dtype.F64, 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	g, err := derive.Gradients(p, []int{slices.IndexFunc(p.Tensors, func(l *program.Local) bool { return l.Name == "y" })})
	if err != nil {
		t.Fatal(err)
	}
	p = g.Program
	values := map[string][]float64{"x": {1, 2}, "w": {3, 4}, "y": {3, 6}, "grad.y": {5, 6}, "grad.x": {15, 18}, "grad.w": {5 + 12, 0}}
	memory := make([][]byte, len(p.Tensors))
	for i, l := range p.Tensors {
		e := newElements(l.Kind, count(l))
		copy(e.real, values[l.Name])
		memory[i] = make([]byte, 8*count(l))
		e.store(dtype.F64, memory[i])
	}
	if d := meaning(t, text, dtype.F64, 1, 2, p, g.Of, memory, memory); d != "" {
		t.Errorf("want nothing, got %s", d)
	}
	for i, l := range p.Tensors {
		if !l.Given || l.Name == "grad.y" || values[l.Name] == nil {
			continue
		}
		for _, v := range []float64{1e-9, math.NaN(), math.Inf(1)} {
			wrong := cloned(memory)
			e := newElements(l.Kind, count(l))
			e.load(dtype.F64, wrong[i])
			e.real[0] += v
			e.store(dtype.F64, wrong[i])
			if d := meaning(t, text, dtype.F64, 1, 2, p, g.Of, memory, wrong); !strings.Contains(d, strings.TrimPrefix(l.Name, "grad.")) {
				t.Errorf("%s + %v: want a difference, got %q", l.Name, v, d)
			}
		}
	}
}
