package program

import (
	"fmt"
	"reflect"

	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// Passed is an argument that the caller passes: one value, or a list. Its values may change from run to run,
// so the program reads them from a tensor.
type Passed struct {
	Name string
	Slot int
	// Type is the Go type of one value. Formulas can use numbers and bool only.
	Type     reflect.Type
	Variadic bool
	Values   []any // in this use; a program depends on their number, not on the values
}

// kind returns the kind of the argument's values. ok is false if formulas cannot compute with their Go type.
func (p *Passed) kind() (k term.Kind, ok bool) {
	if p.Type == nil {
		return 0, false
	}
	switch p.Type.Kind() {
	case reflect.Bool:
		return term.Boolean, true
	case reflect.Float32, reflect.Float64:
		return term.Real, true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return term.Integer, true
	}
	return 0, false
}

// ElementType returns the element type of the tensor that holds passed values of a kind.
func ElementType(k term.Kind) dtype.Type {
	switch k {
	case term.Real:
		return dtype.F64
	case term.Integer:
		return dtype.I64
	}
	return dtype.Bool
}

// Number converts a passed value to a real number: 1 or 0 for a condition.
func Number(v any) float64 {
	switch x := reflect.ValueOf(v); {
	case x.CanFloat():
		return x.Float()
	case x.CanInt() || x.CanUint():
		return float64(Whole(v))
	}
	return term.Truth(Holds(v))
}

// Whole converts a passed integer to int64. It returns 0 for values of other types.
func Whole(v any) int64 {
	if x := reflect.ValueOf(v); x.CanUint() {
		return int64(x.Uint())
	} else if x.CanInt() {
		return x.Int()
	}
	return 0
}

// Holds reports whether a passed value is the boolean true.
func Holds(v any) bool {
	x := reflect.ValueOf(v)
	return x.Kind() == reflect.Bool && x.Bool()
}

// addPassed declares a tensor for each argument whose values the caller passes at each run.
func (b *builder) addPassed(list []Passed) error {
	for i := range list {
		p := &list[i]
		k, ok := p.kind()
		if !ok {
			continue // the formula does not use it
		}
		if !p.Variadic && len(p.Values) != 1 {
			return fmt.Errorf("%s: want one value, got %d", p.Name, len(p.Values))
		}
		l := &Local{Name: p.Name, Shape: []*term.Term{}, Kind: k, Old: -1, Passed: p}
		if p.Variadic {
			l.Shape = append(l.Shape, term.Number(len(p.Values)))
		}
		b.byName[p.Name] = b.program.Add(l)
		b.counts[p.Name] = len(p.Values)
	}
	return nil
}
