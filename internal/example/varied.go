package example

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/runtime/task"
)

// A program may depend on attributes, on the presence of inputs, and on the length of runs. Extents and most
// integers stay symbols in a view, and gradients depend on none of their values, so that one view holds for
// all of them. The rest is varied: each example with each other value of one factor, and with values of
// several factors at once.

// maxVaried bounds the uses made from an operator's examples. All combinations of factors are tried if there
// are at most maxTogether. Otherwise factors with at most fewValues other values are combined in pairs.
const (
	maxVaried   = 192
	maxTogether = 64
	fewValues   = 3
	// statementTerms is how many terms a statement counts beyond those of its value.
	statementTerms = 40
)

// factor is one degree of freedom of a use. It holds a function for each value other than the example's,
// which sets the value in a variant of the example.
type factor []func(*variant)

// variant is an example with other attributes, shapes and requests.
type variant struct {
	attrs   map[string]any // decoded JSON, with numbers as json.Number
	shapes  map[string][]int
	request bool
}

// attributes decodes the attributes of an example.
func attributes(x *task.Example) (attrs map[string]any, err error) {
	d := json.NewDecoder(strings.NewReader(x.Attrs))
	d.UseNumber()
	return attrs, d.Decode(&attrs)
}

// varied returns views of uses that no example shows: combinations of factors at the first example, and one
// factor at a time at each example. With gradient set, the views have gradients; otherwise real attributes
// stay symbols. With few set, factors are attributes of few values and inputs only. complete is false if the
// budget of terms ends first.
func (f *follower) varied(gradient, few bool) (out []*view, complete bool) {
	spent := &known{}
	budget := 4 * maxTerms
	if gradient {
		budget /= 2 // a term takes twice as long where gradients are derived
	}
	made := map[string]bool{}
	for i, v := range f.views {
		x := &f.op.Operator.Examples[v.example-1]
		attrs, err := attributes(x)
		if err != nil {
			continue // the operator does not allow this use
		}
		factors := f.factors(v, x, few)
		var uses [][]int
		if i == 0 && len(factors) > 1 {
			uses = together(factors)
		}
		uses = append(uses, alone(factors)...)
		for _, values := range uses {
			y := variant{attrs: maps.Clone(attrs), shapes: maps.Clone(x.Shapes)}
			for k, n := range values {
				if n >= 0 {
					factors[k][n](&y)
				}
			}
			text, err := json.Marshal(y.attrs)
			if err != nil {
				continue
			}
			key := string(text) + fmt.Sprint(y.shapes, y.request)
			if made[key] {
				continue
			}
			if made[key] = true; len(made) > maxVaried {
				return out, true
			}
			z := *x
			z.Attrs, z.Shapes = string(text), y.shapes
			c := v.use.choice
			c.Request = c.Request || y.request
			u := useOf(f.op, &z, c, true)
			if u.err != nil {
				continue // the operator does not allow this use
			}
			u.parsed = v.parsed
			if w := u.open(v.example, spent, gradient); w != nil {
				out = append(out, w)
			}
			if spent.spent > budget {
				return out, false
			}
		}
	}
	return out, true
}

// open returns a view of a use, or nil if the formula cannot be lowered. Numeric attributes stay symbols,
// unless a when condition compares them.
func (u *use) open(example int, spent *known, gradient bool) *view {
	x := u.result()
	x.Open, x.Unsettled, x.Definitions = true, true, definitions(u.op)
	p, err := program.Build(x)
	if err != nil {
		spent.spent += leastTerms
		return nil
	}
	c := &computed{example: example, choice: u.choice, program: p}
	if gradient {
		p.Forget()
		if c.gradient, err = derive.Gradients(p, Outputs(u.op, p)); err != nil {
			spent.spent += leastTerms
			return nil
		}
		p = c.gradient.Program
	}
	spent.spend(p)
	spent.spent += statementTerms * len(p.Statements) // analyzing a short statement takes longer than its terms do
	return &view{u, c}
}

// alone returns choices of values by factor, where -1 is the example's value: first the example itself, then
// each other value of each factor alone.
func alone(factors []factor) [][]int {
	out := [][]int{slices.Repeat([]int{-1}, len(factors))}
	for i, f := range factors {
		for n := range f {
			c := slices.Clone(out[0])
			c[i] = n
			out = append(out, c)
		}
	}
	return out
}

// together returns combinations of values: all if they are few. Otherwise it returns a random sample, and
// all combinations of two factors with few values.
func together(factors []factor) (out [][]int) {
	all := 1
	for _, f := range factors {
		all = min(all*(len(f)+1), maxTogether+1)
	}
	for n := range all {
		c := make([]int, len(factors))
		for i, f := range factors {
			c[i] = n%(len(f)+1) - 1
			n /= len(f) + 1
		}
		out = append(out, c)
	}
	if all <= maxTogether {
		return out
	}
	out = nil
	rng := rand.New(rand.NewPCG(1, 2))
	for range maxTogether / 4 {
		c := make([]int, len(factors))
		for i, f := range factors {
			c[i] = rng.IntN(len(f)+1) - 1
		}
		out = append(out, c)
	}
	for i, f := range factors {
		for k, g := range factors[:i] {
			for n := range len(f) * len(g) {
				if max(len(f), len(g)) <= fewValues {
					c := slices.Repeat([]int{-1}, len(factors))
					c[i], c[k] = n%len(f), n/len(f)
					out = append(out, c)
				}
			}
		}
	}
	return out
}

// factors returns the degrees of freedom of uses at an example: attributes that the formula names or that
// determine presence and dimensions, optional inputs, and requests for outputs.
func (f *follower) factors(v *view, x *task.Example, few bool) (out []factor) {
	names := namesOf(f.op.Operator.Formula)
	known := constantsOf(f.op.Operator.Formula)
	for _, a := range f.op.Attrs {
		if (names[a.Name] || f.decides(a.Name)) && !(few && !hasFew(a)) {
			out = append(out, attrFactor(a.Name, others(a, v.raw[a.Name], known)))
		}
	}
	for _, s := range f.op.Slots {
		if s.Pattern == nil || s.Variadic || !s.Optional && s.PresentIf == nil {
			continue
		}
		if _, there := x.Shapes[s.Name]; there {
			out = append(out, factor{func(x *variant) { delete(x.shapes, s.Name) }})
		} else if dims, ok := v.shapeOf(s); ok {
			out = append(out, factor{func(x *variant) { x.shapes[s.Name] = dims }})
		}
	}
	if f.requests() {
		out = append(out, factor{func(x *variant) { x.request = true }})
	}
	return slices.DeleteFunc(out, func(f factor) bool { return len(f) == 0 })
}

// requests reports whether the operator has outputs on request. No example asks for them.
func (f *follower) requests() bool {
	return slices.ContainsFunc(f.op.Slots, func(s *model.Slot) bool { return s.OnRequest && !s.Asked() })
}

// namesOf returns the set of names in a formula.
func namesOf(formula []string) map[string]bool {
	names := map[string]bool{}
	for _, line := range formula {
		for _, name := range strings.FieldsFunc(line, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
			names[name] = true
		}
	}
	return names
}

// decides reports whether an attribute determines the presence of a slot or a dimension.
func (f *follower) decides(attr string) bool {
	found := false
	look := func(n expr.Node) {
		expr.Walk(n, func(n expr.Node) {
			id, ok := n.(*expr.Ident)
			found = found || ok && id.Name == attr
		})
	}
	for _, s := range f.op.Slots {
		look(s.PresentIf)
	}
	for _, d := range f.op.Dims {
		look(d.Node)
	}
	return found
}

// attrFactor returns the factor of an attribute with the given other values; nil means absent.
func attrFactor(name string, values []any) (out factor) {
	for _, value := range values {
		out = append(out, func(x *variant) {
			if x.attrs[name] = value; value == nil {
				delete(x.attrs, name)
			}
		})
	}
	return out
}

// others returns values of an attribute other than has, as decoded JSON; nil means absent. For numbers, the
// values are the constants of conditions and their neighbors.
func others(a *model.Attr, has any, known constants) (out []any) {
	if a.Optional && a.Default == nil && has != nil {
		out = append(out, nil)
	}
	if isList(a) {
		list, _ := has.([]any)
		return append(out, otherLists(a, list, known)...)
	}
	if a.Type == "record" {
		record, _ := has.(map[string]any)
		return append(out, otherRecords(a, record, known)...)
	}
	for _, v := range otherValues(a, known) {
		if fmt.Sprint(v) != fmt.Sprint(has) && allowed(a, v) {
			out = append(out, v)
		}
	}
	return out
}

// otherValues returns candidate values of a scalar attribute: all values if its type has few.
func otherValues(a *model.Attr, known constants) (out []any) {
	number := func(n int) { out = append(out, json.Number(strconv.Itoa(n))) }
	switch a.Type {
	case "bool":
		return []any{false, true}
	case "enum":
		for _, v := range a.Enum.Values {
			out = append(out, v.Name)
		}
	case "int":
		for _, c := range known.whole {
			number(c)
		}
	case "axis":
		for n := -3; n < 3; n++ {
			number(n)
		}
	case "float", "number":
		if a.Optional {
			out = append(out, json.Number("0.5"))
		}
		for _, c := range known.real {
			for d := -1.0; d <= 1; d++ {
				out = append(out, json.Number(strconv.FormatFloat(c+d, 'g', -1, 64)))
			}
		}
	}
	return out
}

// otherLists returns lists that differ from list in one element, and the reversed list.
func otherLists(a *model.Attr, list []any, known constants) (out []any) {
	one := *a
	one.List, one.Optional = false, false
	if name, ok := strings.CutSuffix(a.Type, "s"); ok {
		one.Type = map[string]string{"dim": "int", "axe": "axis"}[name]
	}
	for i := range list {
		for _, v := range others(&one, list[i], known) {
			other := slices.Clone(list)
			other[i] = v
			out = append(out, other)
		}
	}
	if len(list) > 1 {
		other := slices.Clone(list)
		slices.Reverse(other)
		out = append(out, other)
	}
	return out
}

// otherRecords returns records that differ from record in one field.
func otherRecords(a *model.Attr, record map[string]any, known constants) (out []any) {
	for _, f := range a.Fields {
		for _, v := range others(f, record[f.Name], known) {
			other := map[string]any{}
			maps.Copy(other, record)
			if other[f.Name] = v; v == nil {
				delete(other, f.Name)
			}
			out = append(out, other)
		}
	}
	return out
}

// allowed reports whether a number is between the min and max of an attribute.
func allowed(a *model.Attr, v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		return true
	}
	x, _ := n.Float64()
	bound := func(of any, other float64) float64 {
		n, ok := of.(json.Number)
		if !ok {
			return other
		}
		x, _ := n.Float64()
		return x
	}
	return bound(a.Min, math.Inf(-1)) <= x && x <= bound(a.Max, math.Inf(1))
}

// constants are the numbers in when conditions of a formula, and some small integers.
type constants struct {
	whole []int
	real  []float64
}

// constantsOf returns the constants of a formula, sorted and distinct.
func constantsOf(formula []string) constants {
	out := constants{whole: []int{0, 1, 3}}
	note := func(n expr.Node) {
		expr.Walk(n, func(n expr.Node) {
			x, ok := n.(*expr.Lit)
			if !ok {
				return
			}
			switch c := x.Value.(type) {
			case int64:
				out.whole = append(out.whole, int(c)-1, int(c), int(c)+1)
				out.real = append(out.real, float64(c))
			case float64:
				out.real = append(out.real, c)
			}
		})
	}
	f, _ := expr.ParseFormula(strings.Join(formula, "\n"))
	for _, s := range f.Statements {
		note(s.When)
	}
	slices.Sort(out.whole)
	slices.Sort(out.real)
	return constants{slices.Compact(out.whole), slices.Compact(out.real)}
}

// shapeOf returns a shape of an input that the example leaves out: bound dimensions have their values,
// others extent 2. ok is false if the pattern has an element of another kind.
func (v *view) shapeOf(s *model.Slot) (dims []int, ok bool) {
	x := *v.use
	x.evaluator = evaluator{name: x.value, count: x.tensorsOf, places: x.placesOf, axis: x.checkedAxis}
	dims = []int{}
	for _, e := range s.Pattern.Elems {
		switch e.Kind {
		case scope.Bind, scope.AxisDim, scope.Any:
			n, _ := x.dims[e.Name].(int)
			if n == 0 {
				n = 2
			}
			dims = append(dims, n)
		case scope.BindRest, scope.AnyRest:
			run, _ := x.dims[e.Name].([]int)
			dims = append(dims, run...)
		case scope.Match:
			dims = append(dims, x.integer(e.Node))
		case scope.MatchAll:
			dims = append(dims, x.list(e.Node)...)
		default:
			return nil, false
		}
	}
	return dims, x.err == nil
}

// unseen returns varied views with gradients.
func (f *follower) unseen() []*view {
	if f.gradients == nil {
		out, _ := f.varied(true, false)
		f.gradients = append([]*view{}, out...)
	}
	return f.gradients
}

// chosen returns views, with gradients, of uses that no example shows and that differ in attributes of few
// values and in the inputs that are there.
func (f *follower) chosen() []*view {
	if f.gradients != nil {
		return f.gradients // these, and others
	}
	if f.choices == nil {
		out, _ := f.varied(true, true)
		f.choices = append([]*view{}, out...)
	}
	return f.choices
}

// hasFew reports whether an attribute has few values, or may be absent.
func hasFew(a *model.Attr) bool {
	return !isList(a) && (a.Type == "bool" || a.Type == "enum" || a.Optional)
}
