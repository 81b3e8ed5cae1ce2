package task

import (
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
)

func TestOperand(t *testing.T) {
	o := Operand{dtype.F64, []int{3, 4}}
	if o.Bytes() != 96 || o.String() != "f64[3, 4]" || (Operand{dtype.I8, nil}).Bytes() != 1 || (Operand{dtype.F32, []int{0}}).Bytes() != 0 {
		t.Errorf("%v has %d bytes", o, o.Bytes())
	}
	if big := (Operand{dtype.F64, []int{1 << 29, 1 << 3}}); big.Bytes() != 1<<35 {
		t.Errorf("%v has %d bytes", big, big.Bytes())
	}
}
