package randomformula

import (
	"fmt"
	"slices"
	"strings"
)

// reduction writes a reduction of real numbers.
func (w *writer) reduction(depth int) string {
	if w.open > 0 {
		w.note("nested reduction")
	}
	kind := w.pick("sum", "sum", "mean", "max", "min", "logsumexp", "variance", "norm", "prod", "max")
	if kind == "prod" || kind == "variance" || kind == "norm" {
		w.note(kind)
	}
	over, leave := w.binders()
	defer leave()
	was := w.within
	w.within = true
	defer func() { w.within = was }()
	if w.one(4) {
		w.note("condition of a reduction")
		over += " if " + w.condition(w.IntN(2))
	} else if w.one(20) {
		w.note("condition of attributes alone")
		over += " if " + w.pick("rate < 0.37", "size > 2", "2 < 1", "flag", "!flag")
	}
	if w.one(8) && len(w.tensors) > 0 {
		w.note("summand without its index")
		own := w.inside
		w.inside = w.inside[:len(w.inside)-1]
		x := w.real(depth - 1)
		w.inside = own
		if !strings.Contains(over, " if ") {
			over += " if " + w.inside[len(w.inside)-1].name + " " + w.pick("<", ">=", "!=") + " " + w.whole(0)
		}
		return fmt.Sprintf("%s(%s: %s)", kind, over, w.dependent(over, x, " * (1 + 0.5 * %)"))
	}
	x := w.real(depth)
	return fmt.Sprintf("%s(%s: %s)", kind, over, w.dependent(over, x, " * (1 + 0.5 * %)"))
}

// dependent writes an expression so that it depends on each index of the innermost reduction.
func (w *writer) dependent(over, x, by string) string {
	_, condition, _ := strings.Cut(over, " if ")
	for _, i := range w.inside[w.entered:] {
		if !mentionsAny(condition+" "+x, i.name) {
			x = "(" + x + ")" + strings.ReplaceAll(by, "%", i.name)
		}
	}
	return x
}

func mentionsAny(text, name string) bool {
	return mentions(strings.ReplaceAll(text, "'", "_"), strings.ReplaceAll(name, "'", "_"))
}

// binders writes the indices of a reduction, which leave leaves again.
func (w *writer) binders() (text string, leave func()) {
	w.open++
	w.budget--
	before, entered := len(w.inside), w.entered
	w.entered = before
	n := 1
	if w.one(3) {
		n = 2
		w.note("sum over several indices")
	}
	var parts []string
	for range n {
		parts = append(parts, w.binder(before))
	}
	return strings.Join(parts, ", "), func() {
		w.open--
		w.inside, w.entered = w.inside[:before], entered
	}
}

// binder writes an index of a reduction, the first of which has the number before among the indices around.
func (w *writer) binder(before int) string {
	if w.one(3) {
		return w.ownBinder(before)
	}
	dim := w.pick("K", "K", "N", "M")
	name := w.fresh(strings.ToLower(dim))
	text := name
	if w.one(2) && len(w.inside) > 0 {
		text += " in " + w.span(dim, before)
	}
	w.inside = append(w.inside, index{name: name, dim: dim})
	return text
}

// ownBinder writes an index that is no dimension's.
func (w *writer) ownBinder(before int) string {
	name := ""
	for _, n := range []string{"a", "b", "c", "d", "h", "i", "o"} {
		if !slices.ContainsFunc(w.inside, func(i index) bool { return i.name == n }) {
			name = n
			break
		}
	}
	if w.one(2) || len(w.inside) == 0 {
		hi := w.pick("2", "3", "size", "4")
		w.inside = append(w.inside, index{name: name, lo: "0", hi: hi})
		return name + " < " + hi
	}
	w.note("range of its own that depends")
	text := w.span("", before)
	w.inside = append(w.inside, index{name: name})
	return name + " in " + text
}

// span writes a range that depends on the indices around.
func (w *writer) span(dim string, before int) string {
	i := w.inside[w.IntN(len(w.inside))]
	if len(w.inside) > before && w.one(2) {
		w.note("range that depends on its own sum")
		i = w.inside[len(w.inside)-1]
	} else {
		w.note("range that depends on indices around")
	}
	end := dim
	if end == "" || w.one(6) {
		end = w.pick("K", "N", "M")
	}
	at := i.name
	if w.one(6) {
		at = w.affine()
	}
	switch w.IntN(16) {
	case 0, 1:
		return fmt.Sprintf("0 .. %s + 1", at)
	case 2:
		return fmt.Sprintf("0 .. %s", at)
	case 3:
		return fmt.Sprintf("%s .. %s", at, end)
	case 4:
		return fmt.Sprintf("%s + 1 .. %s", at, end)
	case 5, 6:
		return fmt.Sprintf("%s - %d .. %s + %d", at, 1+w.IntN(2), at, 1+w.IntN(3))
	case 7:
		return fmt.Sprintf("%s .. %s + %s", at, at, w.pick("size", "2", "3"))
	case 8:
		w.note("reversed range")
		return fmt.Sprintf("%s .. %s", at, w.affine())
	case 9:
		return fmt.Sprintf("%s .. %s", w.affine(), end)
	case 10:
		w.note("digit in a range")
		return fmt.Sprintf("%s / 2 .. %s / 2 + 2", i.name, i.name)
	case 11:
		w.note("digit in a range")
		return fmt.Sprintf("%s * %s / size .. ceildiv((%s + 1) * %s, size)", i.name, end, i.name, end)
	case 12:
		w.note("stride in a range")
		return fmt.Sprintf("%s * 2 - 1 .. %s * 2 - 1 + size", i.name, i.name)
	case 13:
		return fmt.Sprintf("max(0, %s - 1) .. min(%s, %s + 2)", at, end, at)
	case 14:
		w.note("shifted range")
		return fmt.Sprintf("-2 .. %s", at)
	}
	w.note("shifted range")
	return fmt.Sprintf("%s - %s .. %s", at, w.pick("4", "6", end), at)
}

// fresh returns a name of an index of a dimension that is not in use.
func (w *writer) fresh(base string) string {
	name := base
	for slices.ContainsFunc(w.inside, func(i index) bool { return i.name == name }) {
		name += "'"
	}
	return name
}

// present returns an index around that ranges over N or K, or nothing.
func (w *writer) present() (index, bool) {
	var fit []index
	for _, i := range w.inside {
		if i.dim == "N" || i.dim == "K" {
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		return index{}, false
	}
	return fit[w.IntN(len(fit))], true
}

// scan writes a reduction up to, from or beside a present index.
func (w *writer) scan() string {
	i, ok := w.present()
	if !ok || w.open > 0 {
		return ""
	}
	w.note("scan")
	w.budget--
	own := strings.ToLower(i.dim) + "'"
	for slices.ContainsFunc(w.inside, func(i index) bool { return i.name == own }) {
		own += "'"
	}
	over := strings.NewReplacer("#", own, "@", i.name, "$", i.dim).Replace(w.pick("# in 0 .. @ + 1", "# in 0 .. @", "# in @ .. $", "# in @ + 1 .. $", "# if # != @", "# if # <= @", "# if # > @", "# if # < @", "# if @ - 1 <= #", "# in 0 .. $ - @", "# in $ - 1 - @ .. $", "# in 1 .. @ - 2", "# in max(@ - 3, 1) .. $", "# in 0 .. 2 * @"))
	kind := w.pick("sum", "max", "min", "prod", "mean", "logsumexp", "max")
	around := w.inside
	w.inside = nil
	for _, a := range around {
		if a.name != i.name {
			w.inside = append(w.inside, a)
		}
	}
	w.inside = append(w.inside, index{name: own, dim: i.dim})
	if w.one(4) {
		w.inside = append(slices.Clone(around), index{name: own, dim: i.dim})
		w.note("scan with a factor of the present index")
	}
	w.open++
	was := w.deepest
	w.deepest = min(w.deepest, w.open)
	x := w.pick("%s", "%s", "tanh(2 * %s)", "sin(%s)", "exp(0.5 * sin(%s))", "%s * 3")
	if strings.Contains(x, "tanh") || strings.Contains(x, "sin") {
		w.note("scan of a function")
	}
	x = strings.Replace(x, "%s", w.real(1), 1)
	if len(w.inside) > len(around) {
		x += fmt.Sprintf(" - (%s - %s) * 0.25", i.name, own)
	}
	w.open--
	w.deepest = was
	w.inside = around
	if !mentionsAny(x+over[strings.Index(over, " ")+1:], own) {
		x += " * " + own
	}
	return fmt.Sprintf("%s(%s: %s)", kind, over, x)
}

// histogram writes a reduction whose condition says to which index an element belongs.
func (w *writer) histogram() string {
	i, ok := w.present()
	if !ok || w.open > 0 {
		return ""
	}
	for _, t := range w.tensors {
		if t.kind != "whole" || len(t.dims) != 1 || t.name == "big" || t.name == "tiny" {
			continue
		}
		w.note("histogram")
		w.budget--
		own := w.fresh(strings.ToLower(t.dims[0]))
		around := w.inside
		w.inside = append(slices.Clone(around), index{name: own, dim: t.dims[0]})
		x := w.real(1)
		also := ""
		if w.one(3) {
			w.note("histogram with a condition")
			w.inside = []index{{name: own, dim: t.dims[0]}}
			also = " && (" + w.condition(1) + ")"
		}
		w.inside = around
		if w.one(4) {
			return fmt.Sprintf("count(%s if %s[%s] == %s%s)", own, t.name, own, i.name, also)
		}
		return fmt.Sprintf("%s(%s if %s[%s] == %s%s: %s)", w.pick("sum", "max", "prod", "min"), own, t.name, own, i.name, also, x)
	}
	return ""
}

// product writes a sum of products of two tensors.
func (w *writer) product() string {
	w.note("product")
	w.budget--
	w.open++
	defer func() { w.open-- }()
	own := w.fresh("k")
	around := w.inside
	w.inside = append(slices.Clone(around), index{name: own, dim: "K"})
	x, y := w.leaf(), w.leaf()
	w.inside = around
	if !mentionsAny(x+" "+y, own) {
		x = "x[0, " + own + "] else 1"
		x = "(" + x + ")"
	}
	return fmt.Sprintf("sum(%s: %s * %s)", own, x, y)
}

// convolution writes a reduction over a window whose place in the window reads another tensor.
func (w *writer) convolution() string {
	var i index
	for _, a := range w.inside {
		if a.dim == "K" || a.dim == "N" {
			i = a
		}
	}
	if i.name == "" {
		return ""
	}
	has := map[string]bool{}
	for _, t := range w.tensors {
		has[t.name] = true
	}
	if !has["e"] {
		return ""
	}
	w.note("convolution")
	w.budget--
	own := w.fresh(strings.ToLower(i.dim))
	around := w.inside
	w.inside = append(slices.Clone(around), index{name: own, dim: i.dim})
	w.open++
	x := w.leaf()
	w.open--
	w.inside = around
	return strings.NewReplacer("#", own, "@", i.name, "%", x).Replace(w.pick(
		"sum(# in @ - 1 .. @ + 2: % * e[# - @ + 1])", "sum(a < 3: e[a] * (v[@ + a - 1] else 0))", "max(# in @ - 1 .. @ + 2: % + e[# - @ + 1])",
		"sum(# in @ .. @ + 3: % * e[# - @])", "sum(# in 2 * @ - 1 .. 2 * @ + 2: % * e[# - 2 * @ + 1])", "sum(# in @ - 2 .. @ + 1: % * e[@ - #] else 0)"))
}

// position writes the place of an extreme along K, or of an element in an order.
func (w *writer) position() string {
	own := w.fresh("k")
	around := w.inside
	w.inside = append(slices.Clone(around), index{name: own, dim: "K"})
	w.open++
	x := w.real(1)
	w.open--
	w.inside = around
	if !mentionsAny(x, own) {
		x += " * " + own
	}
	for _, i := range around {
		if i.dim == "K" && !w.one(4) {
			w.note("order")
			down := w.pick("", " descending")
			if w.one(3) {
				return fmt.Sprintf("rank(%s: %s%s)[%s]", own, x, down, i.name)
			}
			return fmt.Sprintf("argsort(%s: %s%s)[%s]", own, x, down, i.name)
		}
	}
	w.note("place of an extreme")
	if w.one(4) && len(around) > 0 {
		return fmt.Sprintf("%s(%s in %s .. %s: %s)", w.pick("argmax", "argmin"), own, w.pick("0", around[0].name), "K", x)
	}
	return fmt.Sprintf("%s(%s: %s)", w.pick("argmax", "argmin"), own, x)
}

// corner writes values that other lines may read: the row and the column of the extreme of a window, or rows
// that are divided by their norms.
func (w *writer) corner() []string {
	if w.one(2) {
		w.note("row divided by its norm")
		w.tensors = append(w.tensors, tensor{"tunit", "real", []string{"N", "K"}, "", ""})
		return []string{"tnorm[n] = sqrt(sum(k: x[n, k]^2))", w.pick("tunit[n, k] = x[n, k] / max(tnorm[n], 0.25)", "tunit[n, k] = tnorm[n] > 0 ? x[n, k] / tnorm[n] : 0")}
	}
	w.note("row and column of an extreme")
	at := w.left([]string{"N", "K"})
	window := func(i, dim string) string {
		return strings.NewReplacer("@", i, "$", dim).Replace(w.pick("@ .. @ + 2", "@ - 1 .. @ + 2", "0 .. @ + 1", "@ .. $", "@ / 2 .. @ / 2 + 2"))
	}
	x := w.pick("x[n', k']", "x[n', k'] * (1 + k')", "abs(x[n', k'])", "x[n', k'] - 0.25 * n'")
	w.tensors = append(w.tensors, tensor{"trow", "whole", []string{"N", "K"}, "N", ""}, tensor{"tcolumn", "whole", []string{"N", "K"}, "K", ""})
	return []string{fmt.Sprintf("trow%s, tcolumn%s = %s(n' in %s, k' in %s: %s)", at, at, w.pick("argmax", "argmin"), window("n", "N"), window("k", "K"), x),
		fmt.Sprintf("y9%s = x[trow%s, tcolumn%s]", at, at, at)}
}
