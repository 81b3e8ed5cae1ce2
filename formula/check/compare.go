package check

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/base/nearest"
	"github.com/opgen/opgen/runtime/dtype"
)

// comparison checks the operands of == and in. A string is compared with a value of an enum or an element
// type.
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

// elementType checks that there is an element type of the given name.
func elementType(n expr.Node, name string) *expr.Error {
	if elementKind(name) != 0 {
		return nil
	}
	e := failf(n, expr.BadType, "there is no element type '%s'", name)
	suggestString(e, name, dtype.Names())
	return e
}

// alike reports whether values are of kinds that can be compared.
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

// suggest notes which of the names was probably meant, and reports whether one is near.
func suggest(e *expr.Error, name string, names []string) bool {
	if n := nearest.Name(name, names); n != "" {
		e.Old, e.New = name, n
	}
	return e.New != ""
}

// suggestString is suggest for a string in quotes.
func suggestString(e *expr.Error, text string, names []string) bool {
	if suggest(e, text, names) {
		e.Old, e.New = "'"+e.Old+"'", "'"+e.New+"'"
	}
	return e.New != ""
}
