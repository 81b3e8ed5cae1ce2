package formula_test

import (
	"errors"
	"testing"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/task"
)

// Reasons why an operator cannot be divided among devices.
const (
	byNumber   = "elements are found by row-major numbers, which are others in a part"
	random     = "an element is drawn by its row-major number, which is another in a part"
	fixedShape = "an attribute fixes the shape of the whole tensor, which a part does not have"
	overAll    = "an output depends on all elements, and not as a sum"
	valueSized = "values decide which elements there are"
	neighbors  = "a part needs an element of its neighbor, as constraints say"
	scalars    = "it has no tensor with a dimension"
	recurring  = "divisions of recurrences are not derived"
)

// undivided lists the operators that cannot be divided at any of their examples.
var undivided = map[string]string{
	"adjust_scale":        scalars,
	"bidirectional_gru":   recurring,
	"bidirectional_lstm":  recurring,
	"bidirectional_rnn":   recurring,
	"broadcast":           fixedShape,
	"buffer":              fixedShape,
	"cache":               overAll,
	"checksum":            overAll,
	"concat_flat":         byNumber,
	"einsum":              "a kernel by hand reads the equation, and there is no formula from which sharding follows",
	"element_bits":        "a kernel by hand computes it, and there is no formula from which sharding follows",
	"full":                fixedShape,
	"glorot_normal":       random,
	"glorot_uniform":      random,
	"gru":                 recurring,
	"kaiming_normal":      random,
	"kaiming_uniform":     random,
	"lamb":                overAll,
	"learning_rate":       scalars,
	"lstm":                recurring,
	"nll":                 overAll,
	"non_max_suppression": overAll,
	"nonfinite":           overAll,
	"nonzero":             valueSized,
	"normal":              random,
	"reshape":             byNumber,
	"scale_loss":          scalars,
	"sequence":            fixedShape,
	"roi_align":           "a kernel by hand computes it, and there is no formula from which sharding follows",
	"sparse_matvec":       neighbors,
	"truncated_normal":    random,
	"uniform":             random,
	"unique":              valueSized,
	"viterbi":             recurring,
	"weight":              fixedShape,
	"wkv":                 recurring,
}

// TestUndivided compares the list with the catalogue: each operator can be divided at one of its examples, or
// is listed with a reason. It also passes each input in two parts along each axis to Parallel, which must
// either find the partitions of all tensors or say which axis must stay whole.
func TestUndivided(t *testing.T) {
	names, divided := map[string]bool{}, map[string]bool{}
	parts, refused := 0, 0
	forEachUse(t, func(t *testing.T, o *task.Operator, _ *program.Use, r *task.Resolution) {
		divisions, err := o.Divisions(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range divisions {
			for slot, axis := range d.Axes {
				divided[o.Name] = divided[o.Name] || len(r.Operands(slot)) > 0 && r.Operands(slot)[0].Shape[axis] > 1
			}
		}
		for slot := range o.Slots {
			if o.Slots[slot].Role != task.RoleInput {
				continue
			}
			for i, x := range r.Operands(slot) {
				for axis := range x.Shape {
					given := map[int][]partition.Partition{}
					for _, y := range r.Operands(slot) {
						given[slot] = append(given[slot], partition.Undivided(y.Shape))
					}
					given[slot][i].Extents[axis] *= 2
					given[slot][i].Degrees[axis] = 2
					out, err := o.Parallel(r, given, true)
					if err != nil {
						refused++
						if e, ok := errors.AsType[*op.Error](err); !ok || e.Operator != o.FullName() {
							t.Errorf("want an error that names %s, got %v", o.FullName(), err)
						}
						continue
					}
					parts++
					if len(out) != len(o.Slots) || !out[slot][i].Equal(given[slot][i]) {
						t.Errorf("slot %s: got %v, want %v", o.Slots[slot].Name, out[slot], given[slot])
					}
				}
			}
		}
	})
	for _, op := range catalogue.Operators() {
		names[op.Name] = true
		switch reason, listed := undivided[op.Name]; {
		case !divided[op.Name] && !listed:
			t.Errorf("%s: want an example that can be divided, or a reason why it cannot be, got neither", op.Name)
		case divided[op.Name] && listed:
			t.Errorf("%s: want no reason, since it can be divided, got %q", op.Name, reason)
		}
	}
	for name := range undivided {
		if !names[name] {
			t.Errorf("want operators of the catalogue, got %s", name)
		}
	}
	t.Logf("%d partitions of one input, %d refused", parts+refused, refused)
}
