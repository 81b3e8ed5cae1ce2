package kernels_test

import (
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
)

// withoutFormula gives the test that compares what an operator without a formula computes with known results.
var withoutFormula = map[string]func(*testing.T){
	"checksum":            TestChecksum,
	"concat_flat":         TestConcatFlat,
	"einsum":              TestEinsum,
	"element_bits":        TestElementBits,
	"non_max_suppression": TestNonMaxSuppression,
	"nonzero":             TestNonzero,
	"roi_align":           TestRoiAlign,
	"unique":              TestUnique,
}

// TestOperatorsWithoutFormula checks that exactly the operators without a formula have a test with known
// results.
func TestOperatorsWithoutFormula(t *testing.T) {
	for _, o := range catalogue.Operators() {
		if without := len(o.Formula) == 0; without != (withoutFormula[o.Name] != nil) {
			t.Errorf("operator %s: formula missing: %t, test with known results: %t", o.Name, without, !without)
		}
	}
}
