package mapping

import (
	"fmt"
	"math"
	"slices"
)

// ofTensors lists the functions of a tensor: its extents, their number, its element type, whether it is
// there, whether it is a constant, and whether it has the extents of all behind it in a variadic slot.
var ofTensors = []string{"shape", "rank", "type", "present", "known", "alike"}

// function is a function of values: how many arguments it takes, or -1 for any number.
type function struct {
	args int
	eval func(args []any) any
}

// functions lists the functions of values.
var functions = map[string]function{
	"len":   {1, func(a []any) any { return length(a[0]) }},
	"prod":  {1, func(a []any) any { return fold(a[0], 1, func(x, y int) int { return x * y }) }},
	"sum":   {1, func(a []any) any { return fold(a[0], 0, func(x, y int) int { return x + y }) }},
	"min":   {-1, func(a []any) any { return extreme(a, "<") }},
	"max":   {-1, func(a []any) any { return extreme(a, ">") }},
	"range": {1, func(a []any) any { return count(integer(a[0])) }},
	// fill(n, v) is v, n times.
	"fill": {2, func(a []any) any {
		out := make([]any, bounded(integer(a[0])))
		for i := range out {
			out[i] = a[1]
		}
		return listOf(out)
	}},
	// join(x, y, ...) is the elements of lists, one after the other.
	"join": {-1, func(a []any) any {
		out := []int{}
		for _, x := range a {
			out = append(out, integers(x)...)
		}
		return out
	}},
	"reversed": {1, func(a []any) any {
		out := slices.Clone(integers(a[0]))
		slices.Reverse(out)
		return out
	}},
	"sorted": {1, func(a []any) any { return slices.Sorted(slices.Values(integers(a[0]))) }},
	// axes(x, rank) are axes from 0, where negative ones count from the end.
	"axes": {2, func(a []any) any {
		out := slices.Clone(integers(a[0]))
		for i, x := range out {
			if rank := integer(a[1]); x < -rank || x >= rank {
				return fail("want an axis between %d and %d, got %d", -rank, rank-1, x)
			} else if x < 0 {
				out[i] += rank
			}
		}
		return out
	}},
	// inside(x, extents) is true, of indices x into a tensor, as many of each place as there are extents.
	// Negative ones count from the end.
	"inside": {2, func(a []any) any {
		list, extents := integers(a[0]), integers(a[1])
		if len(list) > 0 && len(extents) == 0 {
			return fail("want a dimension for each index, got none")
		}
		for i, x := range list {
			if n := extents[i%len(extents)]; x < -n || x >= n {
				return fail("want indices between %d and %d, got %d", -n, n-1, x)
			}
		}
		return true
	}},
	// without(x, y) is the elements of x that are not in y.
	"without": {2, func(a []any) any {
		y := integers(a[1])
		return slices.DeleteFunc(slices.Clone(integers(a[0])), func(n int) bool { return slices.Contains(y, n) })
	}},
	// at(x, indices) is the elements of x at indices.
	"at": {2, func(a []any) any {
		out := []int{}
		for _, i := range integers(a[1]) {
			out = append(out, element(a[0], i).(int))
		}
		return out
	}},
	// put(x, indices, y) is x with the elements of y at indices.
	"put": {3, func(a []any) any {
		out, y := slices.Clone(integers(a[0])), integers(a[2])
		for k, i := range integers(a[1]) {
			if i < 0 || i >= len(out) || k >= len(y) {
				return fail("want a place in %v for one of %v, got %d", out, y, i)
			}
			out[i] = y[k]
		}
		return out
	}},
	// strides(x) is how far apart the row-major numbers of neighbors are along each dimension of extents x.
	"strides": {1, func(a []any) any {
		out := slices.Clone(integers(a[0]))
		n := 1
		for i, extent := range slices.Backward(out) {
			out[i], n = n, n*extent
		}
		return out
	}},
	// atleast(x, n) is x with n for elements below it.
	"atleast": {2, func(a []any) any {
		out := slices.Clone(integers(a[0]))
		for i := range out {
			out[i] = max(out[i], integer(a[1]))
		}
		return out
	}},
	"sqrt":  {1, func(a []any) any { return math.Sqrt(float(a[0])) }},
	"float": {1, func(a []any) any { return float(a[0]) }},
	"int":   {1, func(a []any) any { return int(float(a[0])) }},
	// single(x) is x as a number of f32.
	"single": {1, func(a []any) any { return float64(float32(float(a[0]))) }},
	"floor":  {1, func(a []any) any { return int(math.Floor(float(a[0]))) }},
	"all":    {1, func(a []any) any { return !slices.Contains(integers(a[0]), 0) }},
	"any":    {1, func(a []any) any { return slices.ContainsFunc(integers(a[0]), func(n int) bool { return n != 0 }) }},
	// window_pads(extents, kernel, strides, dilations, pads, auto_pad, ceil) is how many elements windows
	// reach beyond the begin of each dimension, and then beyond the end of each.
	"window_pads": {7, windowPads},
	// where(x, n) is the indices at which the elements of x are n, and unless(x, n) those at which they are
	// not.
	"where":  {2, func(a []any) any { return places(a, true) }},
	"unless": {2, func(a []any) any { return places(a, false) }},
	// reshaped(extents, shape, allowzero) is the shape that a tensor gets: 0 keeps an extent unless allowzero
	// holds, and -1 stands for the one that follows from the others.
	"reshaped": {3, func(a []any) any {
		from, out := integers(a[0]), slices.Clone(integers(a[1]))
		rest, open := 1, -1
		for _, n := range from {
			rest *= n
		}
		for i, n := range out {
			if n == 0 && !truth(a[2]) {
				if i >= len(from) {
					return fail("want an extent that 0 keeps at %d, got the shape %v", i, from)
				}
				out[i] = from[i]
			}
			if n == -1 {
				open = i
			} else if out[i] > 0 {
				rest /= out[i]
			}
		}
		if open >= 0 {
			out[open] = rest
		}
		return out
	}},
	// element_type(n) is the element type that has the number n in files of ONNX.
	"element_type": {1, func(a []any) any {
		n := integer(a[0])
		if n < 0 || n >= len(elementTypes) || elementTypes[n] == "" {
			return fail("want the number of an element type that engines store, got %d", n)
		}
		return elementTypes[n]
	}},
	// narrow(t) is whether an element type has 8 bits or less, and engines hold it in a wider one.
	"narrow": {1, func(a []any) any { return slices.Index(elementTypes, fmt.Sprint(a[0])) >= narrow }},
	// slices(extent, start, end, step) is the first index, the step and the number of indices from start up
	// to end, where negative ones count from the end.
	"slices": {4, func(a []any) any {
		n, start, end, step := integer(a[0]), integer(a[1]), integer(a[2]), integer(a[3])
		if step == 0 {
			return fail("want a step other than 0")
		}
		low, high := 0, n
		if step < 0 {
			low, high = -1, n-1
		}
		bound := func(x, low int) int {
			if x < 0 {
				x = max(x, -n-1) + n
			}
			return min(max(x, low), high)
		}
		start, end = bound(start, 0), bound(end, low) // a start in front of the first element is the first one
		count := 0
		if step > 0 && end > start {
			count = (end-start-1)/step + 1
		} else if step < 0 && start > end {
			count = (start-end-1)/-step + 1
		} else {
			start = 0 // of a tensor without elements, too
		}
		return []int{start, step, count}
	}},
	// broadcast(x, y) is the shape to which both are repeated.
	"broadcast": {2, func(a []any) any {
		x, y := integers(a[0]), integers(a[1])
		if len(x) < len(y) {
			x, y = y, x
		}
		out := slices.Clone(x)
		for i, n := range y {
			if k := len(x) - len(y) + i; out[k] == 1 {
				out[k] = n
			} else if n != 1 && n != out[k] {
				return fail("want shapes of which one is repeated, got %v and %v", x, y)
			}
		}
		return out
	}},
}

// elementTypes lists the element types by their numbers in files of ONNX. Those from narrow on are of 8 bits
// or less, which engines hold in wider ones.
var elementTypes = []string{"", "f32", "u8", "i8", "u16", "i16", "i32", "i64", "", "bool", "f16", "f64", "u32", "u64", "", "", "bf16",
	"f8e4m3", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "u4", "i4", "f4e2m1", "f8e8m0", "u2", "i2"}

const narrow = 17

func places(a []any, is bool) []int {
	out := []int{}
	for i, n := range elements(a[0]) {
		if equal(n, a[1]) == is {
			out = append(out, i)
		}
	}
	return out
}

func windowPads(a []any) any {
	extents, kernel, strides, dilations := integers(a[0]), integers(a[1]), integers(a[2]), integers(a[3])
	n := len(extents)
	out := make([]int, 2*n)
	if a[4] != nil {
		pads := integers(a[4])
		if len(pads) > 0 && len(pads) != len(out) {
			return fail("want %d pads, got %v", len(out), pads)
		}
		copy(out, pads)
	}
	auto, _ := a[5].(string)
	if len(kernel) != n || len(strides) != n || len(dilations) != n {
		return fail("want %d extents, strides and dilations of a window, got %v, %v and %v", n, kernel, strides, dilations)
	}
	for i := range n {
		size := (kernel[i]-1)*dilations[i] + 1
		stride := strides[i]
		if stride < 1 || dilations[i] < 1 {
			return fail("want strides and dilations of at least 1, got %v and %v", strides, dilations)
		}
		switch auto {
		case "VALID":
			out[i], out[n+i] = 0, 0
		case "SAME_UPPER", "SAME_LOWER":
			total := max(((extents[i]+stride-1)/stride-1)*stride+size-extents[i], 0)
			out[i], out[n+i] = total/2, total-total/2
			if auto == "SAME_LOWER" {
				out[i], out[n+i] = out[n+i], out[i]
			}
		default:
			if auto != "" && auto != "NOTSET" {
				return fail("want auto_pad to be NOTSET, VALID, SAME_UPPER or SAME_LOWER, got %s", auto)
			}
			if !truth(a[6]) {
				continue
			}
			// A window more, unless it would begin behind the elements and the padding in front.
			if rest := (extents[i] + out[i] + out[n+i] - size) % stride; rest > 0 {
				steps := (extents[i]+out[i]+out[n+i]-size)/stride + 1
				if steps*stride < extents[i]+out[i] {
					out[n+i] += stride - rest
				}
			}
		}
	}
	return out
}

// maxList bounds the length of lists that expressions make.
const maxList = 1 << 20

func bounded(n int) int {
	if n < 0 || n > maxList {
		fail("want a list of at most %d elements, got %d", maxList, n)
	}
	return n
}

func count(n int) []int {
	out := make([]int, bounded(n))
	for i := range out {
		out[i] = i
	}
	return out
}

func truth(v any) bool {
	b, ok := v.(bool)
	if !ok {
		if n, isInt := v.(int); isInt {
			return n != 0
		}
		fail("want true or false, got %v", show(v))
	}
	return b
}

func integer(v any) int {
	switch v := v.(type) {
	case int:
		return v
	case []int:
		if len(v) == 1 {
			return v[0]
		}
	}
	fail("want an integer, got %v", show(v))
	return 0
}

func float(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	case []float64:
		if len(v) == 1 {
			return v[0]
		}
	case []int:
		if len(v) == 1 {
			return float64(v[0])
		}
	}
	fail("want a number, got %v", show(v))
	return 0
}

func integers(v any) []int {
	switch v := v.(type) {
	case []int:
		return v
	case int:
		return []int{v}
	}
	fail("want a list of integers, got %v", show(v))
	return nil
}

func show(v any) any {
	if v == nil {
		return "nothing"
	}
	return v
}

func length(v any) int {
	switch v := v.(type) {
	case []int:
		return len(v)
	case []float64:
		return len(v)
	case []string:
		return len(v)
	case string:
		return len(v)
	}
	fail("want a list, got %v", show(v))
	return 0
}

func fold(v any, start int, f func(x, y int) int) any {
	for _, n := range integers(v) {
		start = f(start, n)
	}
	return start
}

func extreme(a []any, less string) any {
	if len(a) == 1 {
		a = elements(a[0])
	}
	if len(a) == 0 {
		return fail("want at least one number, got none")
	}
	best := a[0]
	for _, v := range a[1:] {
		if apply(less, v, best).(bool) {
			best = v
		}
	}
	return best
}

// elements returns the elements of a list.
func elements(v any) []any {
	var out []any
	switch v := v.(type) {
	case []int:
		for _, x := range v {
			out = append(out, x)
		}
	case []float64:
		for _, x := range v {
			out = append(out, x)
		}
	case []string:
		for _, x := range v {
			out = append(out, x)
		}
	default:
		fail("want a list, got %v", show(v))
	}
	return out
}

// listOf makes a list: of integers, if all elements are integers; lists among them give their elements.
func listOf(values []any) any {
	integral, text := true, len(values) > 0
	for _, v := range values {
		switch v.(type) {
		case int, []int, bool:
			text = false
		case float64:
			integral, text = false, false
		case string:
			integral = false
		default:
			return fail("want numbers in a list, got %v", show(v))
		}
	}
	switch {
	case text:
		out := make([]string, len(values))
		for i, v := range values {
			out[i], _ = v.(string)
		}
		return out
	case !integral:
		out := make([]float64, len(values))
		for i, v := range values {
			out[i] = float(v)
		}
		return out
	}
	out := []int{}
	for _, v := range values {
		switch v := v.(type) {
		case int:
			out = append(out, v)
		case bool:
			out = append(out, map[bool]int{true: 1}[v])
		case []int:
			out = append(out, v...)
		}
	}
	return out
}

// element returns an element of a list; a negative index counts from the end.
func element(list, index any) any {
	all, i := elements(list), integer(index)
	if i < 0 {
		i += len(all)
	}
	if i < 0 || i >= len(all) {
		return fail("want an index of %v, got %v", list, index)
	}
	return all[i]
}

// part returns a part of a list, between bounds that count from the end where they are negative, and that are
// cut to the list.
func part(list, lo, hi any) any {
	n := length(list)
	at := func(v any, missing int) int {
		if v == nil {
			return missing
		}
		i := integer(v)
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	from, to := at(lo, 0), at(hi, n)
	to = max(from, to)
	switch v := list.(type) {
	case []int:
		return v[from:to]
	case []float64:
		return v[from:to]
	case []string:
		return v[from:to]
	case string:
		return v[from:to]
	}
	return nil
}

// apply computes a binary operator, element by element if an operand of arithmetic is a list.
func apply(operator string, x, y any) any {
	switch operator {
	case "==":
		return equal(x, y)
	case "!=":
		return !equal(x, y)
	case "in":
		return slices.ContainsFunc(elements(y), func(e any) bool { return equal(x, e) })
	}
	if isList(x) || isList(y) {
		n := 1
		if isList(x) {
			n = length(x)
		}
		if isList(y) && (n == 1 || !isList(x)) {
			n = length(y)
		}
		out := make([]any, n)
		for i := range out {
			out[i] = apply(operator, item(x, i, n), item(y, i, n))
		}
		return listOf(out)
	}
	if a, ok := x.(int); ok {
		if b, ok := y.(int); ok {
			return arithmetic(operator, a, b)
		}
	}
	a, b := float(x), float(y)
	switch operator {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "/":
		return a / b
	case "%":
		return math.Mod(a, b)
	}
	return compare(operator, a, b)
}

func isList(v any) bool {
	switch v.(type) {
	case []int, []float64:
		return true
	}
	return false
}

// item returns number i of n elements of a list, or a number for each.
func item(v any, i, n int) any {
	if !isList(v) {
		return v
	}
	if k := length(v); k != n {
		if k != 1 {
			return fail("want lists of one length, got %d and %d elements", k, n)
		}
		i = 0
	}
	return element(v, i)
}

func arithmetic(operator string, a, b int) any {
	switch operator {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "/", "%":
		if b == 0 {
			return fail("want a divisor other than 0")
		}
		q, r := a/b, a%b
		if r != 0 && (r < 0) != (b < 0) {
			q, r = q-1, r+b
		}
		if operator == "/" {
			return q
		}
		return r
	}
	return compare(operator, a, b)
}

func compare[T int | float64](operator string, a, b T) any {
	switch operator {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	}
	return a >= b
}

func equal(x, y any) bool {
	switch x := x.(type) {
	case nil:
		return y == nil
	case int:
		switch y := y.(type) {
		case int:
			return x == y
		case float64:
			return float64(x) == y
		}
		return false
	case []int:
		y, ok := y.([]int)
		return ok && slices.Equal(x, y)
	case []float64:
		y, ok := y.([]float64)
		return ok && slices.Equal(x, y)
	case []string:
		y, ok := y.([]string)
		return ok && slices.Equal(x, y)
	case float64:
		switch y := y.(type) {
		case int:
			return x == float64(y)
		case float64:
			return x == y
		}
		return false
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}
