package kernels_test

import (
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
)

// Reasons why [sharding] names no dimension of an operator.
const (
	byNumber   = "elements are found by row-major numbers, which are others in a part"
	random     = "an element is drawn by its row-major number, which is another in a part"
	byAxes     = "an attribute lists axes, and no name stands for the others, which could be divided"
	repeats    = "extents of 1 are repeated, so that no name stands for the axes that could be divided"
	fixedShape = "an attribute fixes the shape of the whole tensor, which a part does not have"
	overAll    = "an output depends on all elements, and not as a sum"
	valueSized = "values decide which elements there are"
	neighbors  = "a part needs an element of its neighbor, as constraints say"
	scalars    = "it has no tensor with a dimension"
	lookedUp   = "the index may be smaller than the tensor that it refers to, so that no name stands for the axes of both"
)

// undivided lists the operators that cannot be divided, as far as names of dimensions say.
var undivided = map[string]string{
	"adjust_scale":           scalars,
	"broadcast":              repeats,
	"cache":                  overAll,
	"checksum":               overAll,
	"clip_by_global_norm":    overAll,
	"concat_flat":            byNumber,
	"einsum":                 "a kernel by hand reads the equation, and there is no formula from which sharding follows",
	"element_binary":         repeats,
	"element_binary_compare": repeats,
	"element_binary_logical": repeats,
	"expand_as":              repeats,
	"flat":                   byNumber,
	"full":                   fixedShape,
	"gather":                 lookedUp,
	"glorot_normal":          random,
	"glorot_uniform":         random,
	"input":                  fixedShape,
	"kaiming_normal":         random,
	"kaiming_uniform":        random,
	"l2_normalize":           byAxes,
	"lamb":                   overAll,
	"layer_norm":             byAxes,
	"learning_rate":          scalars,
	"nonfinite":              overAll,
	"nonzero":                valueSized,
	"normal":                 random,
	"reduce":                 byAxes,
	"reduce_arg":             byAxes,
	"reshape":                byNumber,
	"rms_norm":               byAxes,
	"scale_loss":             scalars,
	"scatter":                lookedUp,
	"sparse_matvec":          neighbors,
	"squeeze":                byAxes,
	"transpose":              byAxes,
	"truncated_normal":       random,
	"uniform":                random,
	"unique":                 valueSized,
	"unsqueeze":              byAxes,
	"weight":                 fixedShape,
	"where":                  repeats,
}

// TestUndivided holds the list to the catalogue: each operator can be divided, or has a reason.
func TestUndivided(t *testing.T) {
	names := map[string]bool{}
	for _, op := range catalogue.Operators() {
		names[op.Name] = true
		switch reason, listed := undivided[op.Name]; {
		case len(op.Shards) == 0 && !listed:
			t.Errorf("%s: want [sharding] or a reason why it cannot be divided, got neither", op.Name)
		case len(op.Shards) > 0 && listed:
			t.Errorf("%s: want no reason, since it can be divided, got %q", op.Name, reason)
		}
	}
	for name := range undivided {
		if !names[name] {
			t.Errorf("want operators of the catalogue, got %s", name)
		}
	}
}
