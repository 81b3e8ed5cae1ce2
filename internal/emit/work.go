package emit

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/opgen/opgen/formula/expr"
)

// work emits the extents of steps and the costs of tasks. A subexpression of several of them is computed
// once.
func (e *emitter) work() {
	x := &exprs{e: e}
	var steps, costs, extents []string
	for _, t := range e.op.Tasks {
		if !t.Invoked() {
			continue
		}
		for _, s := range t.Steps {
			if s.Loops {
				method := "Shares"
				if s.Elementwise {
					method = "Elements"
				}
				steps = append(steps, fmt.Sprintf("r.%s(%sTask)", method, t.GoName))
				continue
			}
			over := x.codes(append([]expr.Node{s.OverX}, s.InnerX...))
			extents = append(extents, over[0])
			method, args := "Work", []string{t.GoName + "Task"}
			if s.Name != "" {
				method, args = "Step", append(args, strconv.Quote(s.Name))
			}
			switch {
			case s.GrainX != nil:
				method, args = method+"By", append(args, x.code(s.GrainX, 0))
			case t.Reduces():
				method, args = method+"By", append(args, over[0]) // one range, so that operations have one order
			}
			call := fmt.Sprintf("r.%s(%s)", method, strings.Join(append(args, over...), ", ")) + tiles(x, t, s)
			if s.OnCPUs {
				call += fmt.Sprintf("\nr.OnCPUs(%sTask)", t.GoName)
			}
			if s.WhenX != nil {
				call = "if " + x.code(s.WhenX, 0) + " {\n" + call + "\n}"
			}
			steps = append(steps, call)
		}
		if t.FlopsX != nil {
			call := fmt.Sprintf("r.Cost(%sTask, %s", t.GoName, x.as(t.FlopsX, expr.Float))
			if t.BytesX != nil {
				call += ", " + x.as(t.BytesX, expr.Float)
			}
			costs = append(costs, call+")")
		}
	}
	code := strings.Join(append(steps, costs...), "\n")
	if code == "" {
		return
	}
	e.p("")
	for _, m := range product.FindAllStringSubmatch(code, -1) {
		code = e.once(code, m[0], "prod"+m[1], extents)
	}
	for _, over := range extents {
		name := "extent"
		if len(e.op.Slots) > 0 && e.op.Slots[0].Lane != "" && !strings.Contains(over, "d.") {
			name = "lanes" // the product of all dimensions but that of the axis
		}
		if strings.Contains(over, " ") && !strings.Contains(checkedCall.ReplaceAllString(over, ""), "r.") {
			code = e.once(code, over, name, nil)
		}
	}
	e.p("%s", code)
}

// product matches the size of a run of dimensions.
var product = regexp.MustCompile(`r\.Prod\(d\.(\w+)\)`)

// checkedCall matches a function of the resolver that fails only if an int does not hold a number.
var checkedCall = regexp.MustCompile(`\br\.(Add|Sub|Mul|Sum|Prod)\(`)

// once emits a variable for an expression that code computes several times, and returns the code with the
// variable. It also puts the variable into the other expressions. It does nothing if code already uses the
// name.
func (e *emitter) once(code, computed, name string, others []string) string {
	if strings.Count(code, computed) < 2 || strings.Contains(code, name) {
		return code
	}
	e.p("%s := %s", name, computed)
	for i := range others {
		others[i] = strings.ReplaceAll(others[i], computed, name)
	}
	return strings.ReplaceAll(code, computed, name)
}
