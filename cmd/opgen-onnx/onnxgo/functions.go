package onnxgo

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/opgen/opgen/internal/goname"
)

// function is a sequence of statements that the network repeats.
type function struct {
	name   string
	body   []*item // with bound pieces in place of what differs
	inputs []int   // values
	params []param
	named  bool // it takes a name, with which those of its nodes begin
	result int
}

// param is a number that differs between calls.
type param struct{ name, typ string }

const (
	// maxBlock bounds the statements of a function.
	maxBlock = 150
	// maxInputs and maxParams bound what a function takes.
	maxInputs, maxParams = 4, 8
	// minSaved is the number of lines that a function must save.
	minSaved = 5
	// maxFunctions bounds the functions of a package.
	maxFunctions = 24
)

// identity returns the text of a statement without what may differ between calls of a function.
func identity(pieces []piece) string {
	var b strings.Builder
	for i := range pieces {
		switch p := &pieces[i]; p.kind {
		case text:
			b.WriteString(p.text)
		case tensor:
			b.WriteString("\x01")
		case number:
			b.WriteString("\x02" + p.typ)
		case given:
			b.WriteString("\x03")
		case named:
			b.WriteString("\x04")
		case bound:
			b.WriteString("\x05" + p.text)
		case group:
			b.WriteString("\x06" + identity(p.inner) + "\x07")
		}
	}
	return b.String()
}

// block is a repeated sequence of statements: where it begins, and how long it is.
type block struct {
	starts []int
	size   int
}

// before reports whether a function of b comes before one of c: parts that are repeated most come first,
// since larger ones are made of them.
func (b block) before(c block) bool {
	if len(b.starts) != len(c.starts) {
		return len(b.starts) > len(c.starts)
	}
	return b.size > c.size
}

// saved returns how many lines a function saves.
func (b block) saved() int { return (len(b.starts)-1)*(b.size-1) - 3 }

// functions replaces sequences of statements that the network repeats by calls of functions, as long as one
// saves lines.
func (w *writer) functions(outputs []int) {
	for range maxFunctions {
		best := w.repeated(outputs)
		if best.size == 0 {
			return
		}
		if !w.extract(best, outputs) {
			return
		}
	}
}

// repeated finds the repeated sequence that comes first.
func (w *writer) repeated(outputs []int) block {
	n := len(w.items)
	ids := map[string]uint64{}
	identities := make([]uint64, n)
	reads := make([][]int, n)
	made := map[int]int{}    // the statement that gives a value
	lastUse := map[int]int{} // the last statement that reads a value
	for i, it := range w.items {
		text := identity(it.pieces)
		if _, ok := ids[text]; !ok {
			ids[text] = uint64(len(ids))
		}
		identities[i] = ids[text]
		leaves(it.pieces, func(p *piece) {
			if p.kind == tensor {
				reads[i] = append(reads[i], p.value)
				lastUse[p.value] = i
			}
		})
		made[it.result] = i
	}
	for _, v := range outputs {
		lastUse[v] = math.MaxInt
	}
	type key struct {
		sum  uint64
		size int
	}
	found := map[key][]int{}
	var order []key
	for i := range n {
		h := fnv.New64a()
		outside, whole := map[int]int{}, true
		for size := 1; size <= min(maxBlock, n-i); size++ {
			k := i + size - 1
			fmt.Fprintf(h, "%d;", identities[k])
			for _, v := range reads[k] {
				if at, ok := made[v]; ok && at >= i {
					fmt.Fprintf(h, "i%d,", at-i)
					continue
				}
				whole = whole && !w.several[v]
				if _, ok := outside[v]; !ok {
					outside[v] = len(outside)
				}
				fmt.Fprintf(h, "o%d,", outside[v])
			}
			if len(outside) > maxInputs || !whole {
				break
			}
			if size < 2 || w.items[k].several || lastUse[w.items[k].result] <= k {
				continue // the last statement gives the result
			}
			escapes := false
			for at := i; at < k && !escapes; at++ {
				escapes = lastUse[w.items[at].result] > k
			}
			if escapes {
				continue
			}
			key := key{h.Sum64(), size}
			list := found[key]
			if len(list) == 1 {
				order = append(order, key)
			}
			if len(list) == 0 || list[len(list)-1]+size <= i {
				found[key] = append(list, i)
			}
		}
	}
	var best block
	for _, k := range order {
		list := found[k]
		if len(list) < 2 {
			continue
		}
		if b := (block{list, k.size}); b.saved() >= minSaved && (best.size == 0 || b.before(best)) && w.fits(b) {
			best = b
		}
	}
	return best
}

// columns returns, for each number and extent in the statements of a block, its pieces in all places.
func (w *writer) columns(b block) [][]*piece {
	var columns [][]*piece
	for _, start := range b.starts {
		k := 0
		for _, it := range w.items[start : start+b.size] {
			leaves(it.pieces, func(p *piece) {
				if p.kind != number && p.kind != given {
					return
				}
				if k == len(columns) {
					columns = append(columns, nil)
				}
				columns[k] = append(columns[k], p)
				k++
			})
		}
	}
	return columns
}

// differ reports whether a column becomes a parameter, and the text that tells columns apart.
func differ(column []*piece) (string, bool) {
	var b strings.Builder
	differs := false
	for _, p := range column {
		differs = differs || p.kind == given || p.text != column[0].text
		fmt.Fprintf(&b, "%d %s,", p.kind, p.text)
	}
	return b.String() + column[0].typ, differs
}

// fits reports whether a function for a block takes few parameters.
func (w *writer) fits(b block) bool {
	params := map[string]bool{}
	for _, c := range w.columns(b) {
		if len(c) != len(b.starts) {
			return false // two sequences with the same sum
		}
		if text, ok := differ(c); ok {
			params[text] = true
		}
	}
	return len(params) <= maxParams
}

// extract makes a function of a block, and replaces the block by calls.
func (w *writer) extract(b block, outputs []int) bool {
	f := &function{}
	index := map[string]int{}
	var calls [][]piece // by start: the numbers and extents that the call gives
	calls = make([][]piece, len(b.starts))
	var bindings []int // by column: the parameter, or -1
	taken := maps.Clone(w.taken)
	for _, name := range append([]string{"g", "name"}, inputNames(maxInputs)...) {
		taken[name] = true
	}
	for _, c := range w.columns(b) {
		text, differs := differ(c)
		if !differs {
			bindings = append(bindings, -1)
			continue
		}
		k, ok := index[text]
		if !ok {
			k = len(f.params)
			index[text] = k
			p := param{typ: cmp.Or(c[0].typ, "int")}
			p.name = unique(local(cmp.Or(c[0].hint, "extent")), taken)
			f.params = append(f.params, p)
			for i, x := range c {
				y := *x
				y.hint = p.name
				calls[i] = append(calls[i], y)
			}
		}
		bindings = append(bindings, k)
	}
	// The body is the first place, with what differs bound.
	first := w.items[b.starts[0] : b.starts[0]+b.size]
	k := 0
	for _, it := range first {
		c := &item{pieces: clonePieces(it.pieces), result: it.result, short: it.short, several: it.several, fn: it.fn}
		leaves(c.pieces, func(p *piece) {
			switch p.kind {
			case number, given:
				if at := bindings[k]; at >= 0 {
					*p = piece{kind: bound, text: f.params[at].name}
				}
				k++
			case named:
				f.named = true
			}
		})
		f.body = append(f.body, c)
	}
	f.inputs = outside(first)
	f.result = first[len(first)-1].result
	f.name = unique(w.functionName(b), w.taken)
	var items []*item
	at := 0
	for i, start := range b.starts {
		items = append(items, w.items[at:start]...)
		at = start + b.size
		inner := w.items[start:at]
		call := &item{result: inner[len(inner)-1].result, short: f.name, fn: f, inner: inner}
		call.pieces = []piece{say("%s(g", f.name)}
		for _, v := range outside(inner) {
			call.pieces = append(call.pieces, say(", "), piece{kind: tensor, value: v})
		}
		if f.named {
			call.pieces = append(call.pieces, say(", "), callName(f, inner))
		}
		for _, p := range calls[i] {
			call.pieces = append(call.pieces, say(", "), p)
		}
		call.pieces = append(call.pieces, say(")"))
		items = append(items, call)
	}
	w.items = append(items, w.items[at:]...)
	return true
}

// callName returns the piece that names a call of a function.
func callName(f *function, inner []*item) piece {
	p := piece{kind: named, hint: f.name}
	if name := commonName(inner); name != "" {
		p.names = []string{name}
	}
	return p
}

func clonePieces(pieces []piece) []piece {
	out := slices.Clone(pieces)
	for i := range out {
		out[i].inner = clonePieces(out[i].inner)
	}
	return out
}

// outside returns the values that statements read and do not give, in the order in which they read them.
func outside(items []*item) (list []int) {
	var made []int
	for _, it := range items {
		leaves(it.pieces, func(p *piece) {
			if p.kind == tensor && !slices.Contains(made, p.value) && !slices.Contains(list, p.value) {
				list = append(list, p.value)
			}
		})
		made = append(made, it.result)
	}
	return list
}

// commonName returns what the names that the file suggests for nodes have in common, up to a point; of a
// single node, its name.
func commonName(items []*item) string {
	var prefix []string
	first := true
	list := suggestions(items)
	if len(list) == 1 {
		return list[0]
	}
	for _, name := range list {
		parts := strings.Split(name, ".")
		parts = parts[:len(parts)-1]
		if name == "" {
			return ""
		}
		if first {
			prefix, first = parts, false
		}
		k := 0
		for k < min(len(prefix), len(parts)) && prefix[k] == parts[k] {
			k++
		}
		prefix = prefix[:k]
	}
	return strings.Join(prefix, ".")
}

// suggestions returns the best name that the file suggests for each named node.
func suggestions(items []*item) (list []string) {
	for _, it := range items {
		leaves(it.pieces, func(p *piece) {
			if p.kind == named {
				name := ""
				if len(p.names) > 0 {
					name = p.names[0]
				}
				list = append(list, name)
			}
		})
	}
	return list
}

// functionName returns a name for a function: what the names of its nodes begin with, without a number, or
// what it does.
func (w *writer) functionName(b block) string {
	often := map[string]int{}
	best := ""
	for _, start := range b.starts {
		name := commonName(w.items[start : start+b.size])
		for _, part := range slices.Backward(strings.Split(name, ".")) {
			word := strings.TrimFunc(part, func(r rune) bool { return !unicode.IsLetter(r) })
			if len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") {
				word = word[:len(word)-1]
			}
			if word = local(word); word != "" {
				if often[word]++; often[word] > often[best] {
					best = word
				}
				break
			}
		}
	}
	if best != "" {
		return best
	}
	var words []string
	for _, it := range w.items[b.starts[0] : b.starts[0]+b.size] {
		if it.fn != nil {
			return "block"
		}
		words = append(words, it.short)
	}
	if s := local(strings.Join(words, "_")); len(words) <= 3 && len(s) <= 28 {
		return s
	}
	return "block"
}

// local returns a name for a variable.
func local(name string) string { return goname.Local(name) }

// unique returns a name that is not taken, and takes it.
func unique(name string, taken map[string]bool) string {
	base := strings.TrimRight(name, "0123456789")
	if base == "" {
		base = name
	}
	for k := 2; taken[name]; k++ {
		name = fmt.Sprintf("%s%d", base, k)
	}
	taken[name] = true
	return name
}
