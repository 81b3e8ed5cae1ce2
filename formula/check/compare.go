package check

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/base/nearest"
	"github.com/opgen/opgen/runtime/dtype"
)

// comparison checks the types of the operands of ==, != and in. A string literal may be compared with an
// enum, whose value it must name, or with an element type.
func comparison(nx expr.Node, x value, ny expr.Node, y value) *expr.Error {
	if x.kinds == kString && y.kinds != kString {
		nx, x, ny, y = ny, y, nx, x
	}
	text := ""
	if l, ok := ny.(*expr.Lit); ok {
		text, _ = l.Value.(string)
	}
	switch {
	case x.kinds == kAny || y.kinds == kAny:
		return nil
	case x.kinds == kEnum && y.kinds == kString && text != "":
		if slices.Contains(x.typ.Values, text) {
			return nil
		}
		e := failf(ny, expr.BadType, "%s has no value '%s'", x.describe(), text)
		if !suggestString(e, text, x.typ.Values) {
			e.Hint = "values are " + strings.Join(x.typ.Values, ", ")
		}
		return e
	case x.kinds == kDType && y.kinds == kString && text != "":
		return elementType(ny, text)
	case x.kinds == kDType && y.kinds == kDType:
		return nil
	case x.typ.Optional:
		return want(nx, x, y.kinds)
	case y.typ.Optional:
		return want(ny, y, x.kinds)
	case !alike(x, y):
		return failf(ny, expr.BadType, "cannot compare %s with %s", x.describe(), y.describe())
	}
	return nil
}

// elementType returns an error if name is no element type, such as f32.
func elementType(n expr.Node, name string) *expr.Error {
	if elementKind(name) != 0 {
		return nil
	}
	e := failf(n, expr.BadType, "there is no element type '%s'", name)
	suggestString(e, name, dtype.Names())
	return e
}

// alike reports whether the types of x and y can be compared for equality.
func alike(x, y value) bool {
	const never = kSlot | kRecord | kOther
	switch {
	case x.kinds&kNumber != 0 && y.kinds&kNumber != 0:
		return true
	case x.kinds == kEnum && y.kinds == kEnum:
		return x.typ.Name == y.typ.Name && slices.Equal(x.typ.Values, y.typ.Values)
	}
	return x.kinds&y.kinds&^never != 0
}

// suggest stores in e the name that is nearest to name by edit distance, as a suggested fix, and reports
// whether one is near enough.
func suggest(e *expr.Error, name string, names []string) bool {
	if n := nearest.Name(name, names); n != "" {
		e.Old, e.New = name, n
	}
	return e.New != ""
}

// suggestString is suggest for a string literal: the fix has quotes.
func suggestString(e *expr.Error, text string, names []string) bool {
	if suggest(e, text, names) {
		e.Old, e.New = "'"+e.Old+"'", "'"+e.New+"'"
	}
	return e.New != ""
}
