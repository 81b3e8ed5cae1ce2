package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/oracle"
	"github.com/opgen/opgen/internal/randomformula"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// verdict says what became of a formula.
type verdict struct {
	Number   uint64   `json:"number"`
	Status   string   `json:"status"` // refused, beyond, right, unjudged, wrong, failed or oracle
	Variant  string   `json:"variant,omitempty"`
	Message  string   `json:"message,omitempty"`
	Bits     string   `json:"bits,omitempty"`
	Features []string `json:"features,omitempty"`
	Compared int      `json:"compared,omitempty"` // elements
	// Case is the case as the oracle settled it: the extents that it manages, and inputs whose rounding
	// decides about no integer.
	Case *randomformula.Case `json:"case,omitempty"`
}

// mostSteps bounds the operations of the oracle for one formula.
const mostSteps = 3 << 20

// check returns the operator of a case, or why opgen check refuses it. What the spec has to say about a
// gradient is added where check asks for it.
func check(c *randomformula.Case) (*liveOperator, string) {
	for {
		var list diag.List
		specs := []driver.Input{{Path: "specs/" + c.Name + ".toml", Text: c.Spec()}}
		for _, name := range c.Applied {
			specs = append(specs, driver.Input{Path: "specs/" + name + ".toml", Text: randomformula.OtherSpec(name)})
		}
		ops, err := read(specs, &list)
		if err != nil {
			return nil, err.Error()
		}
		if list.Empty() {
			return ops[c.Name], ""
		}
		message := list.Sorted()[0].Message
		_, rest, ok := strings.Cut(message, "gives each element of the gradient of ")
		if ok {
			if name := strings.Fields(rest)[0]; !slices.Contains(c.Scatter, name) {
				c.Scatter = append(c.Scatter, name)
				continue
			}
		}
		return nil, message
	}
}

// use returns the use of the operator for the oracle.
func use(o *liveOperator, c *randomformula.Case, d drawn) (*oracle.Use, error) {
	r, err := resolve(o, c)
	if err != nil {
		return nil, err
	}
	u, err := oracle.Of(&o.Operator.Operator, r.Attrs, r, 0, nil)
	if err != nil {
		return nil, err
	}
	for _, in := range c.Inputs {
		for i, t := range u.Slot(in.Name).Tensors {
			e := d.inputs[tensorName(in.Name, i)]
			t.Real, t.Whole = e.real, e.whole
			if t.Type.IsFloat() && t.Real == nil {
				t.Real = []float64{}
			} else if t.Whole == nil {
				t.Whole = []int64{}
			}
		}
	}
	if c.Text == "" { // the lines as they were drawn, without those that the compiler adds
		if u.Formula = c.Lines; c.Meant != nil {
			u.Formula = c.Meant
		}
	}
	u.MaxSteps = mostSteps
	if c.Apart > 0 {
		u.Type = dtype.F64
	}
	return u, nil
}

// resolve applies the operator to the inputs of a case.
func resolve(o *liveOperator, c *randomformula.Case) (*task.Resolution, error) {
	attrs, err := o.DecodeAttrs([]byte(c.Attrs))
	if err != nil {
		return nil, err
	}
	given := task.NoneGiven(&o.Operator.Operator)
	for i, s := range o.Slots {
		for _, in := range c.Inputs {
			if in.Name != s.Name || in.Owned {
				continue
			}
			for _, dims := range c.Tensors(in) {
				given.Operands[i] = append(given.Operands[i], task.Operand{Type: typeOf(c, in), Shape: dims})
			}
		}
		if s.OnRequest && !c.Unasked {
			given.Requested[i] = 1
		}
	}
	return task.Resolve(&o.Operator.Operator, attrs, given)
}

// question asks for the gradients of some elements of each input: of all, if they are few.
func question(c *randomformula.Case, d drawn) oracle.Question {
	q := oracle.Question{Seeds: map[string][][]float64{}}
	if !c.Differentiable() {
		return q
	}
	outputs := 0
	for _, s := range c.Outputs {
		for i := range c.Tensors(s) {
			if w, ok := d.seeds[tensorName(s.Name, i)]; ok {
				q.Seeds[s.Name] = append(q.Seeds[s.Name], w)
				outputs += len(w)
			}
		}
	}
	if outputs == 0 {
		return q // what runs over nothing is left out, with the gradients that it would give by hand
	}
	r := rand.New(rand.NewPCG(c.Values, 2))
	for _, s := range c.Inputs {
		if !c.HasGradient(s) {
			continue
		}
		for tensor, dims := range c.Tensors(s) {
			for _, i := range some(shape.Prod(dims), r) {
				q.Places = append(q.Places, oracle.Place{Slot: s.Name, Tensor: tensor, Number: i})
			}
		}
	}
	return q
}

// some returns some numbers from 0 up to n, in order: all, if they are few.
func some(n int, r *rand.Rand) (chosen []int) {
	const few = 12
	if n <= few {
		for i := range n {
			chosen = append(chosen, i)
		}
		return chosen
	}
	chosen = []int{0, 1, n - 1}
	for range 5 {
		chosen = append(chosen, r.IntN(n))
	}
	slices.Sort(chosen)
	return slices.Compact(chosen)
}

// judged is a case with what the oracle says about it.
type judged struct {
	c      *randomformula.Case
	d      drawn
	q      oracle.Question
	answer *oracle.Answer // nil if there is none
	open   bool           // whether there is none because rounding, or an extreme of nothing, decides about an integer
}

// ask draws inputs and asks the oracle. Where rounding decides about integers, it draws others; where the
// oracle takes too long, it makes extents smaller. An error is one of the formula.
func ask(o *liveOperator, c *randomformula.Case) (*judged, error) {
	j := &judged{c: c}
	meant := o
	if c.Meant != nil {
		m := c.Clone()
		m.Lines, m.Meant = c.Meant, nil
		var why string
		if meant, why = check(m); meant == nil {
			return j, fmt.Errorf("what is meant: %s", why)
		}
	}
	for range 6 {
		j.d = draw(c)
		j.q = question(c, j.d)
		u, err := use(meant, c, j.d)
		if err != nil {
			return j, err
		}
		j.answer, err = u.Answer(j.q)
		switch {
		case err == nil:
			return j, nil
		case errors.Is(err, oracle.ErrTooLong):
			j.open = false
			for name, n := range c.Dims {
				if n > 12 {
					c.Dims[name] = n / 2
				} else {
					c.Dims[name] = min(n, 5)
				}
			}
		case errors.Is(err, oracle.ErrAmbiguous):
			j.open = true
			c.Values += 8 // by whose remainder the spec and the variants are chosen
		default:
			return j, err
		}
	}
	j.d = draw(c)
	return j, nil
}

// differences compares results with what the oracle says. It returns the first difference, and how many
// elements were compared. A gradient that is not there counts as 0 if all were asked for.
func (j *judged) differences(got map[string]elements, v variant) (string, int) {
	if j.answer == nil {
		return "", 0
	}
	compared := 0
	typ := elementType(j.c)
	for _, s := range j.c.Outputs {
		if !j.c.Has(s) {
			continue
		}
		list := j.answer.Results[s.Name]
		if tensors := len(j.c.Tensors(s)); len(list) != tensors {
			return fmt.Sprintf("%s: the oracle gives %d tensors, want %d", s.Name, len(list), tensors), compared
		}
		for tensor := range list {
			name := tensorName(s.Name, tensor)
			have, want := got[name], list[tensor].Elements
			if max(len(have.real), len(have.whole)) != len(want) {
				return fmt.Sprintf("%s: got %d elements, want %d", name, max(len(have.real), len(have.whole)), len(want)), compared
			}
			m, n := j.different(name, have, want, typ)
			if compared += n; m != "" {
				return m, compared
			}
		}
	}
	for _, s := range j.c.Inputs {
		if !j.c.Gives(s) {
			continue
		}
		have, want := got["new."+s.Name], j.answer.Results[s.Name]
		if len(want) != 1 || max(len(have.real), len(have.whole)) != len(want[0].Elements) {
			return fmt.Sprintf("%s: want its new elements, got %d", s.Name, max(len(have.real), len(have.whole))), compared
		}
		if m, n := j.different("new "+s.Name, have, want[0].Elements, typ); m != "" {
			return m, compared + n
		}
		compared += len(want[0].Elements)
	}
	for i, p := range j.q.Places {
		name := tensorName(p.Slot, p.Tensor)
		have, ok := got["grad."+name]
		w := j.answer.Gradients[i]
		if math.IsNaN(w.Real) || math.IsInf(w.Real, 0) {
			continue
		}
		g := 0.0
		if ok && p.Number < len(have.real) {
			g = have.real[p.Number]
		} else if v.forward || v.alone != "" && v.alone != p.Slot {
			continue
		}
		if !j.allows(w, g, typ) {
			return fmt.Sprintf("gradient of %s[%d]: got %v, want %v within %.2g", name, p.Number, g, w.Real, w.Bound), compared
		}
		compared++
	}
	return "", compared
}

// different compares the elements of a tensor. It returns the first difference, and how many were compared.
func (j *judged) different(name string, have elements, want []oracle.Element, typ dtype.Type) (string, int) {
	for i, w := range want {
		if have.real == nil {
			if !math.IsInf(w.Bound, 0) && have.whole[i] != w.Whole {
				return fmt.Sprintf("%s[%d]: got %d, want %d", name, i, have.whole[i], w.Whole), i
			}
		} else if !j.allows(w, have.real[i], typ) {
			return fmt.Sprintf("%s[%d]: got %v, want %v within %.2g", name, i, have.real[i], w.Real, w.Bound), i
		}
	}
	return "", len(want)
}

// allows reports whether a result is an element, within its bound and what the case adds to it.
func (j *judged) allows(want oracle.Element, got float64, typ dtype.Type) bool {
	if typ == dtype.F32 {
		want.Bound += j.c.Apart
	}
	return want.Allows(got, typ)
}

// small reports whether a result is so small that its half is rounded.
func small(t dtype.Type, results map[string]elements) bool {
	least := map[dtype.Type]float64{dtype.F32: 0x1p-124, dtype.F64: 0x1p-1020}[t]
	for _, e := range results {
		if slices.ContainsFunc(e.real, func(x float64) bool { return x != 0 && math.Abs(x) < least }) {
			return true
		}
	}
	return false
}

// otherBits compares the bits of a tensor with those of the plain run: of a gradient that is computed alone,
// and of all tensors beside elementwise operators. There, twice a number is stored, which may be beyond the
// greatest one.
func otherBits(name string, here, plain map[string]elements, greatest float64) string {
	for i, x := range here[name].real {
		if y := plain[name].real; i < len(y) && !(math.IsInf(x, 0) && math.Abs(y[i]) > greatest) && math.Float64bits(x) != math.Float64bits(y[i]) && (x == x || y[i] == y[i]) {
			return fmt.Sprintf("%s[%d]: got %v, and %v in the plain run", name, i, x, y[i])
		}
	}
	return ""
}

// variants lists how each formula runs beside its plain run, in turn.
func (r *runner) variants(c *randomformula.Case) []variant {
	out := []variant{{name: "plain", workers: 1}}
	if r.device && (c.Values%4 == 0 || c.Values%4 == 3) {
		return append(out, variant{name: "forward alone", workers: 2, forward: true})
	}
	switch c.Values % 4 {
	case 0:
		out = append(out, variant{name: "three workers, small ranges", workers: 3, grain: 1 + int(c.Values/4%5)})
	case 1:
		out = append(out, variant{name: "beside elementwise operators", workers: 2, grouped: true})
	case 2:
		for _, s := range c.Inputs {
			if c.HasGradient(s) {
				v := variant{name: "the gradient of " + s.Name + " alone", workers: 1, alone: s.Name}
				if v.grouped = c.Values/4%2 == 1; v.grouped {
					v.name += ", beside elementwise operators"
				}
				out = append(out, v)
			}
		}
	case 3:
		out = append(out, variant{name: "forward alone", workers: 1, forward: true}, variant{name: "the interpreter", workers: 1, reference: true})
	}
	if !r.device {
		out = append(out, variant{name: "tiles", workers: 3, tiles: true, checked: c.Values%3 == 0})
	}
	return out
}

// greatNumber matches the integers that only values of attributes can be: no memory has such extents.
var greatNumber = regexp.MustCompile(`-?\d{10,}`)

// near reports whether a use runs with 3 in place of the great integers among its attributes, and has some. A
// use that is refused since integers are too far is no finding then: opgen check does not know attributes.
func (r *runner) near(o *liveOperator, c *randomformula.Case, d drawn) bool {
	small := c.Clone()
	small.Attrs = greatNumber.ReplaceAllString(c.Attrs, "3")
	if small.Attrs == c.Attrs {
		return false
	}
	_, err := r.run(o, small, d, variant{name: "near", workers: 1})
	return err == nil
}

// judge runs a formula in its variants and compares the results with the oracle. Where plain is set, the case
// is settled, and judge runs it once without the oracle, to compare bits with other sets of instructions.
func (r *runner) judge(c *randomformula.Case, plain bool) *verdict {
	v := &verdict{Status: "refused"}
	for f := range c.Features {
		v.Features = append(v.Features, f)
	}
	slices.Sort(v.Features)
	o, why := check(c)
	if o == nil {
		v.Message = why
		return v
	}
	j := &judged{c: c}
	if plain {
		j.d = draw(c)
	} else {
		var err error
		if j, err = ask(o, c); err != nil {
			v.Status, v.Message = "oracle", err.Error()
			return v
		}
		v.Case = c
	}
	v.Status = "right"
	if j.answer == nil {
		v.Status = "unjudged"
	}
	var first map[string]elements
	for i, x := range r.variants(c) {
		if i > 0 && plain {
			break
		}
		got, err := r.run(o, c, j.d, x)
		if err != nil {
			v.Status, v.Variant, v.Message = "failed", x.name, err.Error()
			if strings.Contains(v.Message, program.TooFar) && r.near(o, c, j.d) {
				v.Status = "beyond"
			}
			if j.answer == nil && j.open && strings.Contains(v.Message, " lies outside ") {
				v.Status = "refused" // as what reads an element at the place of an extreme of nothing, where the oracle has no answer
			}
			return v
		}
		if x.tiles && got == nil {
			continue
		}
		if i == 0 {
			v.Bits, first = bits(got), got
		}
		d, n := j.differences(got, x)
		if d == "" && x.alone != "" {
			greatest := math.Inf(1)
			if x.grouped {
				greatest = oracle.Greatest(elementType(c)) / 2
			}
			for _, name := range slices.Sorted(maps.Keys(got)) {
				if d == "" && strings.HasPrefix(name, "grad.") {
					d = otherBits(name, got, first, greatest)
				}
			}
		}
		if t := elementType(c); d == "" && x.grouped && x.alone == "" && c.Numbers == "" && t.Size() > 2 && !small(t, first) {
			for name := range got {
				if d = otherBits(name, got, first, oracle.Greatest(t)/2); d != "" {
					break
				}
			}
		}
		if d == "" && x.tiles && bits(got) != v.Bits {
			d = "other bits than without tiles"
		}
		v.Compared += n
		if d != "" {
			v.Status, v.Variant, v.Message = "wrong", x.name, d
			return v
		}
	}
	if !plain && j.answer != nil && (slices.ContainsFunc(c.Inputs, c.Gives) || c.Steps()) {
		d, n, err := r.second(o, j)
		if v.Compared += n; err != nil {
			v.Status, v.Variant, v.Message = "failed", "second step", err.Error()
		} else if d != "" {
			v.Status, v.Variant, v.Message = "wrong", "second step", d
		}
	}
	return v
}

// second judges a second step, which has the next number and begins with the weights that the first one gave.
// It returns the first difference, and how many elements were compared.
func (r *runner) second(o *liveOperator, j *judged) (string, int, error) {
	x := variant{name: "second step", workers: 1 + int(j.c.Values/4%3), twice: true}
	got, err := r.run(o, j.c, j.d, x)
	if err != nil {
		return "", 0, err
	}
	next := &judged{c: j.c, d: drawn{maps.Clone(j.d.inputs), j.d.seeds}, q: j.q}
	for _, s := range j.c.Inputs {
		if before, ok := got["before."+s.Name]; ok {
			next.d.inputs[s.Name] = before
		}
	}
	u, err := use(o, next.c, next.d)
	if err != nil {
		return "", 0, err
	}
	u.Step = 1
	next.answer, err = u.Answer(next.q)
	if errors.Is(err, oracle.ErrTooLong) || errors.Is(err, oracle.ErrAmbiguous) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, err
	}
	d, n := next.differences(got, x)
	return d, n, nil
}
