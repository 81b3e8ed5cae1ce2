package attr

import (
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
)

func TestCheckType(t *testing.T) {
	if err := CheckType("cast", "to", dtype.F16); err != nil {
		t.Error(err)
	}
	const want = "operator cast: attribute to: want an element type, got none"
	if err := CheckType("cast", "to", dtype.Invalid); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
