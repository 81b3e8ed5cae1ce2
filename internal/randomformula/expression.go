package randomformula

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// top writes what a statement gives: a number, or one of the forms that are a statement's all.
func (w *writer) top() string {
	switch w.IntN(10) {
	case 0:
		if s := w.scan(); s != "" {
			return s
		}
	case 1, 4:
		if s := w.histogram(); s != "" {
			return s
		}
	case 2:
		if s := w.product(); s != "" {
			return s
		}
	case 3:
		if s := w.convolution(); s != "" {
			return s
		}
	}
	if w.c.Dims["K"] > 1000 && !w.one(3) {
		if s := w.column(); s != "" {
			return s
		}
	}
	if w.one(12) {
		if s := w.again(); s != "" {
			return s
		}
	}
	return w.real(3)
}

// column writes a reduction over rows, for each of many columns.
func (w *writer) column() string {
	for _, i := range w.inside {
		if i.dim != "K" {
			continue
		}
		w.note("reduction of long columns")
		text := w.pick("sum(#: x[#, @])", "sum(#: x[#, @] * (1 + #))", "max(#: x[#, @])", "mean(#: tanh(x[#, @]))", "logsumexp(#: x[#, @])", "prod(#: x[#, @])")
		return strings.NewReplacer("#", w.fresh("n"), "@", i.name).Replace(text)
	}
	return ""
}

// again writes what an earlier statement gives, at other indices: those of this statement, constants and
// extents, at which the earlier one may give nothing.
func (w *writer) again() string {
	if len(w.given) == 0 {
		return ""
	}
	s := w.given[w.IntN(len(w.given))]
	to := map[string]string{}
	for _, v := range s.vars {
		places := []string{"0", "1", "2", v.dim, v.dim + " - 1"}
		for _, own := range w.inside {
			places = append(places, own.name, own.name, own.name+" + 1")
		}
		to[v.name] = w.pick(places...)
	}
	w.note("value of an earlier statement")
	return rename(s.text, to) + w.pick("", " * "+w.leaf())
}

// seam writes a value of elements along a dimension, and an output that has the same value at a place behind
// the last one.
func (w *writer) seam() []string {
	var fit []Slot
	for _, s := range w.c.Inputs {
		if s.Type == "T" && !s.Fixed && len(s.Shape) > 0 {
			fit = append(fit, s)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	w.note("value behind the last one")
	s := fit[w.IntN(len(fit))]
	at := make([]string, len(s.Shape))
	for i := range at {
		at[i] = "0"
	}
	at[w.IntN(len(at))] = "@"
	text := strings.ReplaceAll(w.pick("tanh($)", "exp(sin($))", "sqrt(2 + tanh($))", "logsumexp(c < 2: $ * (1 + c))"), "$",
		fmt.Sprintf("(%s[%s] else 0.5)", s.Name, strings.Join(at, ", ")))
	of := []string{w.pick("N", "K", "M")}
	lines := []string{"seam" + w.left(of) + " = " + strings.ReplaceAll(text, "@", w.inside[0].name)}
	dims := w.dims()
	left := w.left(dims)
	value := strings.ReplaceAll(text, "@", w.pick(of[0], of[0], of[0]+" - 1", "1")) + " * " + w.leaf()
	w.c.Outputs = append(w.c.Outputs, Slot{Name: "y8", Type: "T", Shape: dims})
	return append(lines, fmt.Sprintf("y8%s = %s + (seam[%s] else 0.5)", left, value, w.pick("0", "1")))
}

// name matches a name, with its primes.
var name = regexp.MustCompile(`[a-zA-Z_][a-zA-Z_0-9]*'*`)

// rename puts places for indices.
func rename(text string, places map[string]string) string {
	return name.ReplaceAllStringFunc(text, func(word string) string {
		switch place, ok := places[word]; {
		case !ok:
			return word
		case strings.Contains(place, " "):
			return "(" + place + ")"
		default:
			return place
		}
	})
}

// real writes a real number.
func (w *writer) real(depth int) string {
	if depth <= 0 {
		return w.leaf()
	}
	sub := func() string { return w.real(depth - 1) }
	switch w.IntN(23) {
	case 0, 1:
		return fmt.Sprintf("(%s %s %s)", sub(), w.pick("+", "-"), sub())
	case 2, 3:
		return fmt.Sprintf("%s * %s", sub(), sub())
	case 4:
		return fmt.Sprintf("%s / %s", sub(), w.pick("(2 + "+w.leaf()+"^2)", "(1.5 + tanh("+w.leaf()+"))", "3"))
	case 5:
		w.note("elementary")
		return fmt.Sprintf("%s(%s)", w.pick("tanh", "sin", "cos", "sigmoid", "abs", "Phi", "exp", "expm1"), w.pick("sin", "tanh")+"("+sub()+")")
	case 6:
		return fmt.Sprintf("%s(%s + %s)", w.pick("log", "log1p", "sqrt", "rsqrt"), w.pick("1.5", "2"), w.pick("tanh("+sub()+")", "("+w.leaf()+")^2"))
	case 22:
		w.note("rarer function")
		switch w.IntN(8) {
		case 0, 1:
			return fmt.Sprintf("%s(%s)", w.pick("erfc", "erf", "atan", "asinh", "softplus", "sign"), sub())
		case 2:
			return fmt.Sprintf("%s(%s(%s))", w.pick("tan", "sinh", "cosh"), w.pick("sin", "tanh"), sub())
		case 3:
			return fmt.Sprintf("%s(0.75 * %s(%s))", w.pick("asin", "acos", "atanh"), w.pick("sin", "tanh"), sub())
		case 4:
			return fmt.Sprintf("%s(1.5 + (%s)^2)", w.pick("lgamma", "digamma"), w.leaf())
		case 5:
			return fmt.Sprintf("atan2(%s, %s)", sub(), w.pick("0.5", sub()))
		case 6:
			return fmt.Sprintf("fmod(%s, %s)", sub(), w.pick("0.75", "1.5 + tanh("+w.leaf()+")", w.leaf()))
		}
		return fmt.Sprintf("hypot(%s, %s)", sub(), w.pick("0.5", "0", sub()))
	case 7, 8:
		w.note("branch")
		was := w.within
		w.within = true
		defer func() { w.within = was }()
		return fmt.Sprintf("(%s ? %s : %s)", w.condition(depth-1), sub(), sub())
	case 9:
		w.note("extreme of two")
		return fmt.Sprintf("%s(%s, %s)", w.pick("max", "min"), sub(), sub())
	case 10:
		w.note("whole factor")
		return fmt.Sprintf("%s * %s", sub(), w.whole(depth-1))
	case 11:
		return fmt.Sprintf("(%s)^%s", sub(), w.pick("2", "3", "1"))
	case 12:
		if len(w.calls) > 0 {
			f := w.calls[w.IntN(len(w.calls))]
			args := []string{sub()}
			if f.params > 1 {
				args = append(args, sub())
			}
			return fmt.Sprintf("%s(%s)", f.name, strings.Join(args, ", "))
		}
	case 13: // of nothing but indices
		if len(w.inside) > 0 {
			w.note("function of indices")
			return strings.ReplaceAll(w.pick("exp(-@ / 5)", "2 ^ (-@ / 3)", "cos(@ / 4)", "(@ % 2 == 0 ? 1 : -1)"), "@", w.inside[w.IntN(len(w.inside))].name)
		}
	case 14:
		w.note("rounded")
		return fmt.Sprintf("%s(3 * (%s)) * %s", w.pick("round", "floor", "ceil"), w.leaf(), w.leaf())
	case 15:
		if !w.within && w.budget > 0 {
			if s := w.scan(); s != "" {
				w.note("scan in a value")
				return s
			}
		}
	default:
		if w.open < w.deepest && w.budget > 0 {
			return w.reduction(depth - 1)
		}
	}
	return w.leaf()
}

// leaf writes an element or a constant.
func (w *writer) leaf() string {
	if w.one(6) {
		return w.pick("0.5", "2", "rate", "0.3", "1", "-1")
	}
	if s := w.guarded(); s != "" && w.one(3) {
		return s
	}
	if s := w.element("real"); s != "" {
		return s
	}
	return "0.5"
}

// element writes an element of a tensor of a kind, or nothing if there is none.
func (w *writer) element(kind string) string {
	var fit []tensor
	for _, t := range w.tensors {
		if t.kind == kind {
			fit = append(fit, t)
		}
	}
	if len(fit) == 0 {
		return ""
	}
	t := fit[w.IntN(len(fit))]
	safe := true
	var at []string
	for _, d := range t.dims {
		i, inside := w.place(d)
		at, safe = append(at, i), safe && inside
	}
	if len(at) == 0 && strings.HasPrefix(t.name, "t") {
		return t.name
	}
	text := fmt.Sprintf("%s[%s]", t.name, strings.Join(at, ", "))
	if safe && !w.one(40) || w.one(25) {
		return text
	}
	w.note("else")
	other := map[string]string{"real": w.pick("0", "0.5", "rate", "2"), "whole": w.pick("0", "1"), "truth": w.pick("true", "false")}[kind]
	if kind == "real" && w.one(6) {
		other = "(" + w.leaf() + ")"
	}
	return fmt.Sprintf("(%s else %s)", text, other)
}

// place writes an index along a dimension. inside says that it lies in the dimension.
func (w *writer) place(dim string) (text string, inside bool) {
	var same []index
	for _, i := range w.inside {
		if i.dim == dim {
			same = append(same, i)
		}
	}
	if len(same) > 0 && !w.one(3) {
		return same[len(same)-1-min(w.IntN(3)*w.IntN(2), len(same)-1)].name, true
	}
	if len(same) > 0 {
		i := same[w.IntN(len(same))].name
		switch w.IntN(14) {
		case 0:
			return dim + " - 1 - " + i, true
		case 1:
			return fmt.Sprintf("(%s + %d) %% %s", i, 1+w.IntN(3), dim), true
		case 2:
			w.note("digit")
			return fmt.Sprintf("%s / %d", i, 2+w.IntN(2)), true
		case 3:
			w.note("digit")
			return fmt.Sprintf("quotient(%s, %d)", i, 2+w.IntN(2)), true
		case 4:
			return fmt.Sprintf("%s %s %d", i, w.pick("+", "-"), 1+w.IntN(3)), false
		case 5:
			w.note("stride")
			return fmt.Sprintf("%d * %s %s %d", 2+w.IntN(2), i, w.pick("+", "-"), w.IntN(3)), false
		case 6:
			w.note("mirror")
			return "-" + i, false
		case 7:
			return fmt.Sprintf("%s + 1 - 2 * (%s %% 2)", i, i), false
		case 8:
			w.note("remainder")
			return fmt.Sprintf("(%d * %s + 1) %% %s", 2+w.IntN(3), i, dim), true
		case 9:
			if s := w.lookup(dim); s != "" {
				return s, true
			}
		case 10:
			w.note("place that values decide")
			was := w.within
			w.within = true
			s := fmt.Sprintf("(%s ? %s : 0)", w.condition(0), i)
			w.within = was
			return s, true
		case 11:
			if len(w.inside) > 1 {
				return w.affine(), false
			}
		case 12:
			w.note("digit")
			return fmt.Sprintf("(%s + 1) / 2", i), true
		}
		return i, true
	}
	if s := w.lookup(dim); s != "" && w.one(3) {
		return s, true
	}
	if len(w.inside) > 0 && !w.one(3) {
		if w.one(4) {
			return w.affine(), false
		}
		i := w.inside[w.IntN(len(w.inside))]
		if w.one(3) {
			return fmt.Sprintf("%s %% %s", i.name, dim), true
		}
		return i.name, false
	}
	if strings.Trim(dim, "0123456789") == "" {
		return w.pick("0", "1", "2"), true
	}
	return w.pick("0", dim+" - 1", "1"), false
}

// lookup writes an integer that is known to lie in a dimension: an element of an input with a bound, or the
// place of an extreme.
func (w *writer) lookup(dim string) string {
	var fit []tensor
	for _, t := range w.tensors {
		if t.below == dim && t.except == "" {
			fit = append(fit, t)
		}
	}
	if len(fit) == 0 {
		return ""
	}
	t := fit[w.IntN(len(fit))]
	w.note("look-up")
	if strings.HasPrefix(t.name, "t") {
		w.note("look-up at an extreme")
	}
	return w.here(t)
}

// here writes the element of a tensor at indices that are bound, or nothing if a dimension has none.
func (w *writer) here(t tensor) string {
	var at []string
	for _, d := range t.dims {
		found := ""
		for _, i := range w.inside {
			if i.dim == d {
				found = i.name
			}
		}
		if found == "" {
			return ""
		}
		at = append(at, found)
	}
	if len(at) == 0 {
		return t.name
	}
	return fmt.Sprintf("%s[%s]", t.name, strings.Join(at, ", "))
}

// guarded writes a look-up by an integer that may lie outside of its bound, where it does not; nothing if
// there is none.
func (w *writer) guarded() string {
	for _, by := range w.tensors {
		if by.except == "" {
			continue
		}
		place := w.here(by)
		if place == "" {
			continue
		}
		for _, t := range w.tensors {
			k := slices.Index(t.dims, by.below)
			if t.kind != "real" || k < 0 || w.one(3) {
				continue
			}
			var at []string
			safe := true
			for i, d := range t.dims {
				text, inside := place, true
				if i != k {
					text, inside = w.place(d)
				}
				at, safe = append(at, text), safe && inside
			}
			if !safe {
				continue
			}
			w.note("look-up with an exception")
			read := fmt.Sprintf("%s[%s]", t.name, strings.Join(at, ", "))
			if w.one(2) {
				return fmt.Sprintf("(%s == %s ? %s : %s)", place, by.except, w.pick("0", "0.5", "2"), read)
			}
			return fmt.Sprintf("(%s != %s ? %s : %s)", place, by.except, read, w.pick("0", "0.5", "2"))
		}
	}
	return ""
}

// affine writes a sum of indices.
func (w *writer) affine() string {
	var b strings.Builder
	for n := range 1 + w.IntN(2) {
		i := w.inside[w.IntN(len(w.inside))].name
		if n == 0 && w.one(6) {
			b.WriteString("-")
		}
		if n > 0 {
			b.WriteString(w.pick(" + ", " - "))
		}
		b.WriteString(w.pick("", "", "2 * ") + i)
	}
	if w.one(2) {
		fmt.Fprintf(&b, " %s %d", w.pick("+", "-"), 1+w.IntN(3))
	}
	return strings.TrimSpace(b.String())
}

// whole writes an integer.
func (w *writer) whole(depth int) string {
	some := []string{"1", "2", "size"}
	for _, i := range w.inside {
		some = append(some, i.name, i.name)
	}
	switch w.IntN(9) {
	case 0:
		if s := w.element("whole"); s != "" {
			return s
		}
	case 1:
		if depth > 0 {
			return fmt.Sprintf("(%s %s %s)", w.whole(depth-1), w.pick("+", "-", "*"), w.whole(depth-1))
		}
	case 2:
		if depth > 0 {
			w.note("quotient")
			return fmt.Sprintf("%s(%s, %s)", w.pick("quotient", "ceildiv", "quotient"), w.whole(depth-1), w.pick("2", "3", "size"))
		}
	case 3:
		if depth > 0 {
			w.note("remainder")
			return fmt.Sprintf("(%s) %% %s", w.whole(depth-1), w.pick("2", "3", "size"))
		}
	case 4:
		if depth > 0 {
			return fmt.Sprintf("(%s ? %s : %s)", w.condition(depth-1), w.whole(depth-1), w.whole(depth-1))
		}
	case 5:
		if depth > 0 && w.open < w.deepest && w.budget > 0 {
			w.note("count")
			over, leave := w.binders()
			defer leave()
			return fmt.Sprintf("count(%s if %s)", over, w.dependent(over, w.condition(depth-1), " || % < 1"))
		}
	case 6:
		if depth > 0 && w.open < w.deepest && w.budget > 0 {
			w.note("whole reduction")
			kind := w.pick("sum", "max", "min")
			over, leave := w.binders()
			defer leave()
			if w.one(4) {
				over += " if " + w.condition(depth-1)
			}
			return fmt.Sprintf("%s(%s: %s)", kind, over, w.dependent(over, w.whole(depth-1), " + %"))
		}
	}
	return some[w.IntN(len(some))]
}

// condition writes a condition.
func (w *writer) condition(depth int) string {
	compare := []string{"<", "<=", "==", "!=", ">", ">="}
	if depth <= 0 {
		if s := w.element("truth"); s != "" && w.one(2) {
			return s
		}
		if len(w.inside) > 0 && w.one(2) {
			w.note("condition of indices")
			return fmt.Sprintf("%s %s %s", w.inside[w.IntN(len(w.inside))].name, w.pick(compare...), w.whole(0))
		}
		return fmt.Sprintf("%s %s 0.37", w.leaf(), w.pick("<", ">"))
	}
	switch w.IntN(8) {
	case 0, 1:
		if len(w.inside) > 0 {
			w.note("condition of indices")
			return fmt.Sprintf("%s %s %s", w.inside[w.IntN(len(w.inside))].name, w.pick(compare...), w.whole(depth-1))
		}
	case 2:
		return fmt.Sprintf("(%s) %s (%s)", w.condition(depth-1), w.pick("&&", "||"), w.condition(depth-1))
	case 3:
		return fmt.Sprintf("!(%s)", w.condition(depth-1))
	case 4:
		return fmt.Sprintf("%s %s %s", w.leaf(), w.pick("<", ">", "==", ">="), w.leaf())
	case 5:
		if w.open < w.deepest && w.budget > 0 {
			w.note("any or all")
			kind := w.pick("any", "all")
			over, leave := w.binders()
			defer leave()
			return fmt.Sprintf("%s(%s: %s)", kind, over, w.dependent(over, w.condition(depth-1), " || % < 1"))
		}
	}
	return fmt.Sprintf("%s %s 0.37", w.real(depth-1), w.pick("<", ">"))
}
