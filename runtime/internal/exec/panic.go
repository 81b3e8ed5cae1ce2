package exec

import (
	"fmt"
	"reflect"
	"strings"
)

// Panic is what a body panicked with, and the stack at that point, as debug.Stack formats it.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string {
	if at := p.where(); at != "" {
		return fmt.Sprintf("the kernel panicked at %s: %v", at, p.Value)
	}
	return fmt.Sprintf("the kernel panicked: %v", p.Value)
}

// module is the import path of this module's packages of the runtime, and a slash.
var module = strings.TrimSuffix(reflect.TypeFor[Panic]().PkgPath(), "internal/exec")

// where returns the file and the line of the kernel, as file:line: the place in the innermost function that
// is neither of Go's runtime nor of this one. It is "" if there is none, as for kernels that are made of
// formulas.
func (p *Panic) where() string {
	_, stack, ok := strings.Cut(string(p.Stack), "\npanic(") // what comes before is the function that recovers
	if !ok {
		return ""
	}
	_, stack, _ = strings.Cut(stack, "\n\t")
	_, stack, _ = strings.Cut(stack, "\n")
	for stack != "" {
		var function, place string
		function, stack, _ = strings.Cut(stack, "\n")
		place, stack, _ = strings.Cut(stack, "\n")
		switch {
		case runs(function):
			return ""
		case strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, module):
		default:
			place, _, _ = strings.Cut(strings.TrimSpace(place), " ")
			return place
		}
	}
	return ""
}

// runs reports whether a function, as a stack names it, is of a package that runs bodies: behind it there is
// no kernel.
func runs(function string) bool {
	for _, p := range []string{"internal/exec", "cpu", "engine", "checked"} {
		if strings.HasPrefix(function, module+p+".") {
			return true
		}
	}
	return strings.HasPrefix(function, "created by ")
}
