package oracle_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/oracle"
	"github.com/opgen/opgen/runtime/conform"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

var cases = flag.String("cases", "", "a folder of conformance cases; by default those of the module")

// TestConform compares what formulas mean with references: the oracle must give what conformance cases
// expect, in outputs and in gradients.
func TestConform(t *testing.T) {
	files := conform.Cases()
	if *cases != "" {
		files = os.DirFS(*cases)
	}
	list, _, err := conform.LoadAll(files)
	if err != nil {
		t.Fatal(err)
	}
	outputs, gradients, left := 0, 0, map[string]int{}
	for _, c := range list {
		t.Run(c.Name(), func(t *testing.T) {
			a, b, err := checkCase(t, c)
			if err != nil {
				left[err.Error()]++
			}
			outputs, gradients = outputs+a, gradients+b
		})
	}
	if t.Logf("%d outputs and %d gradients were compared; left out: %v", outputs, gradients, left); *cases == "" && (outputs < 300 || gradients < 250) {
		t.Errorf("want 300 outputs and 250 gradients at least, got %d and %d", outputs, gradients)
	}
}

// checkCase compares what the oracle gives with a case. The error says why it is left out.
func checkCase(t *testing.T, c *conform.Case) (outputs, gradients int, err error) {
	o, attrs := operatorOf(c)
	switch {
	case o == nil || len(o.Formula) == 0:
		return 0, 0, errors.New("no formula")
	case c.Check == "statistical" || c.Has("unsorted") || c.Has("given_mask") || c.Source == "onnx" && c.Op == "dropout" || o.Signature(task.KindUpdate) != nil:
		return 0, 0, errors.New("a protocol of its own")
	}
	given := task.NoneGiven(&o.Operator)
	for i := range o.Slots {
		s := &o.Slots[i]
		for _, name := range names(c, "in.", s) {
			given.Operands[i] = append(given.Operands[i], task.Operand{Type: storage(c.Tensors[name].Type), Shape: c.Tensors[name].Shape})
		}
		if n := len(names(c, "out.", s)); s.OnRequest {
			given.Requested[i] = n
		}
	}
	passed, err := (&task.Example{Args: c.Args}).Passed(&o.Operator)
	if err != nil {
		t.Fatal(err)
	}
	given.Pass(passed)
	r, err := task.Resolve(&o.Operator, attrs, given)
	if err != nil {
		return 0, 0, errors.New("not supported")
	}
	u, err := oracle.Of(&o.Operator, attrs, r, 0, passed)
	if err != nil {
		t.Fatal(err)
	}
	q := oracle.Question{Seeds: map[string][][]float64{}}
	backward := false
	for i := range o.Slots {
		s, prefix := &o.Slots[i], "in."
		if s.Role == task.RoleWeight {
			prefix = "weight."
		}
		if s.Role == task.RoleWeight && len(names(c, prefix, s)) == 0 && len(r.Slots[i]) > 0 {
			return 0, 0, errors.New("a weight that is initialized")
		}
		for k, name := range names(c, prefix, s) {
			x, sl := c.Tensors[name], u.Slot(s.Name)
			if k >= len(sl.Tensors) {
				return 0, 0, errors.New("not supported")
			}
			sl.Tensors[k].Real, sl.Tensors[k].Whole = elements(t, x)
			if _, ok := c.Tensors["grad_"+name]; ok {
				for n := 0; n < len(sl.Tensors[k].Real); n += max(len(sl.Tensors[k].Real)/mostPlaces, 1) {
					q.Places = append(q.Places, oracle.Place{Slot: s.Name, Tensor: k, Number: n})
				}
			}
		}
		for _, name := range names(c, "grad_out.", s) {
			v, _ := elements(t, c.Tensors[name])
			q.Seeds[s.Name] = append(q.Seeds[s.Name], v)
			backward = true
		}
	}
	if !backward {
		q = oracle.Question{}
	}
	a, err := u.Answer(q)
	if errors.Is(err, oracle.ErrTooLong) {
		return 0, 0, err
	}
	if err != nil {
		t.Errorf("%v", err)
		return 0, 0, nil
	}
	at := 0
	for i := range o.Slots {
		s, prefix := &o.Slots[i], "in."
		for k, name := range names(c, "out.", s) {
			if k < len(a.Results[s.Name]) {
				compare(t, c, name, a.Results[s.Name][k].Elements, 0)
				outputs++
			}
		}
		if s.Role == task.RoleWeight {
			prefix = "weight."
		}
		for k, name := range names(c, prefix, s) {
			if _, ok := c.Tensors["grad_"+name]; ok && backward {
				for at < len(q.Places) && q.Places[at].Slot == s.Name && q.Places[at].Tensor == k {
					compare(t, c, "grad_"+name, a.Gradients[at:at+1], q.Places[at].Number)
					at++
				}
				gradients++
			}
		}
	}
	return outputs, gradients, nil
}

// operatorOf returns the operator of a case with its attributes, or nil.
func operatorOf(c *conform.Case) (*graph.Operator, task.Attrs) {
	object := maps.Clone(c.Attrs)
	for name, v := range object {
		if typ, ok := map[string]dtype.Type{`"BOOL"`: dtype.Bool, `"INT32"`: dtype.I32, `"INT64"`: dtype.I64, `"HALF"`: dtype.F16, `"FLOAT"`: dtype.F32, `"DOUBLE"`: dtype.F64}[string(v)]; ok {
			object[name], _ = json.Marshal(typ)
		}
	}
	data, _ := json.Marshal(object)
	for _, o := range catalogue.Operators() {
		if o.Name != c.Op && o.Family != c.Op {
			continue
		}
		if attrs, err := o.DecodeAttrs(data); err == nil {
			return o, attrs
		}
	}
	return nil, nil
}

func storage(t dtype.Type) dtype.Type { return t }

// names lists the tensors of a case for a slot.
func names(c *conform.Case, prefix string, s *task.Slot) []string {
	var out []string
	if !s.Variadic {
		if _, ok := c.Tensors[prefix+s.Name]; ok {
			out = append(out, prefix+s.Name)
		}
		return out
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s%s_%d", prefix, s.Name, i)
		if _, ok := c.Tensors[name]; !ok {
			return out
		}
		out = append(out, name)
	}
}

// elements returns the elements of a tensor.
func elements(t *testing.T, x safetensors.Tensor) ([]float64, []int64) {
	t.Helper()
	n := len(x.Data) / x.Type.Size()
	real, whole := make([]float64, n), make([]int64, n)
	for i := range n {
		data := x.Data[i*x.Type.Size():]
		real[i] = x.Type.Float64(data)
		whole[i] = int64(real[i])
		if x.Type == dtype.I64 { // which float64 cannot hold
			whole[i] = int64(binary.LittleEndian.Uint64(data))
		}
	}
	return real, whole
}

// mostPlaces is of how many elements of a tensor gradients are compared, about.
const mostPlaces = 12

// compare compares elements, of which the first one has a number, with those of a case.
func compare(t *testing.T, c *conform.Case, name string, got []oracle.Element, from int) {
	t.Helper()
	x := c.Tensors[name]
	tol := c.Tol[name]
	want, _ := elements(t, x)
	if strings.HasPrefix(name, "out.") && len(got) != len(want) {
		t.Errorf("%s: got %d elements, want %d", name, len(got), len(want))
		return
	}
	for i := range got {
		g, w := got[i].Real, want[from+i]
		if !(g == w || math.IsNaN(g) && math.IsNaN(w) || math.Abs(g-w) <= tol.Abs+tol.Rel*math.Abs(w)+got[i].Bound) {
			t.Errorf("%s, element %d: got %v within %v, want %v", name, from+i, g, got[i].Bound, w)
			return
		}
	}
}
