package onnxgo

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/internal/goname"
)

// registers are the names of variables that live for some lines.
var registers = []string{"x", "y", "z"}

// maxLife is the number of statements for which a variable may have a name of one letter.
const maxLife = 40

// body writes statements.
type body struct {
	w          *writer
	names      map[int]string // of values
	taken      map[string]bool
	declared   map[string]bool
	holds      map[string]int // the value that a register holds
	last       map[int]int    // the last statement that reads a value
	function   *function      // nil for Build
	symbols    map[int]string // names of extents
	used       map[int]bool   // symbols that are read
	statements []string
}

// newBody returns a writer of a function's statements, whose inputs have names.
func (w *writer) newBody(f *function, items []*item, inputs []int, names []string) *body {
	b := &body{w: w, function: f, names: map[int]string{}, taken: map[string]bool{"g": true, "name": true}, declared: map[string]bool{}, holds: map[string]int{}, last: map[int]int{}, symbols: map[int]string{}, used: map[int]bool{}}
	for name := range w.taken {
		b.taken[name] = true
	}
	for i, it := range items {
		leaves(it.pieces, func(p *piece) {
			if p.kind == tensor {
				b.last[p.value] = i
			}
		})
	}
	for i, v := range inputs {
		b.names[v] = names[i]
		b.taken[names[i]], b.declared[names[i]] = true, true
		if slices.Contains(registers, names[i]) {
			b.holds[names[i]] = v
		}
	}
	return b
}

// expression writes the pieces of a statement.
func (b *body) expression(pieces []piece) string {
	var s strings.Builder
	for i := range pieces {
		switch p := &pieces[i]; p.kind {
		case text, number:
			s.WriteString(p.text)
		case bound:
			s.WriteString(p.text)
		case tensor:
			s.WriteString(b.names[p.value])
		case given:
			k, _ := strconv.Atoi(p.text)
			b.used[k] = true
			s.WriteString(b.symbols[k])
		case named:
			if b.function != nil {
				s.WriteString("name+" + strconv.Quote("."+p.text))
			} else {
				s.WriteString(strconv.Quote(p.text))
			}
		case group:
			says := !p.unsaid
			leaves(p.inner, func(q *piece) { says = says || q.kind == bound || q.kind == given })
			if says {
				s.WriteString(b.expression(p.inner))
			}
		}
	}
	return s.String()
}

// statement writes a statement. keep is a value that is read behind all of them, or -1.
func (b *body) statement(i int, it *item, keep []int) {
	e := b.expression(it.pieces)
	life := b.last[it.result] - i
	if slices.Contains(keep, it.result) {
		b.last[it.result] = 1 << 30
	}
	name := ""
	if !it.several && life <= maxLife {
		for _, r := range registers {
			v, held := b.holds[r]
			if held && b.last[v] > i || b.taken[r] && !held && !b.declared[r] {
				continue
			}
			name = r
			break
		}
	}
	op := "="
	if name == "" {
		name = unique(local(it.short), b.taken)
		op = ":="
	} else {
		b.holds[name] = it.result
		if !b.declared[name] {
			op = ":="
			b.declared[name], b.taken[name] = true, true
		}
	}
	b.names[it.result] = name
	b.statements = append(b.statements, fmt.Sprintf("%s %s %s", name, op, e))
}

// inputNames returns names of the tensors that a function takes.
func inputNames(n int) (names []string) {
	for i := range n {
		if i < len(registers) {
			names = append(names, registers[i])
		} else {
			names = append(names, fmt.Sprintf("x%d", i))
		}
	}
	return names
}

// maxPeriod bounds the statements in a loop, and minShorter is the number of lines that a loop saves at
// least.
const maxPeriod, minShorter = 8, 1

// lines returns the statements. Those that repeat and differ only in a number that rises by one within a
// text, as in the names of layers, become a loop.
func (b *body) lines() string {
	var out strings.Builder
	for i := 0; i < len(b.statements); {
		best, text := 0, ""
		for period := 1; period <= maxPeriod; period++ {
			if n, loop := b.loop(i, period); n*period > best && n*period-period-2 >= minShorter {
				best, text = n*period, loop
			}
		}
		if best == 0 {
			best, text = 1, b.statements[i]
		} else if strings.Contains(text, "fmt.Sprintf") {
			b.w.imports["fmt"] = true
		}
		out.WriteString(text + "\n")
		i += best
	}
	return out.String()
}

// loop returns how often the statements from i on repeat, and the loop for them.
func (b *body) loop(i, period int) (int, string) {
	n := 1
	lines := make([]string, period)
	counts := false
	for ; i+(n+1)*period <= len(b.statements); n++ {
		same := true
		for k := range period {
			s, t := b.statements[i+(n-1)*period+k], b.statements[i+n*period+k]
			line := s
			if s != t {
				head, tail, x, y, ok := counted(s, t)
				same = same && ok && y == x+1
				if ok {
					line, counts = counting(head, tail, x-n+1), true
				}
			}
			if n == 1 {
				lines[k] = line
			}
			same = same && looped.MatchString(s) && line == lines[k]
		}
		if !same {
			break
		}
	}
	if !counts {
		return 1, ""
	}
	return n, fmt.Sprintf("for i := range %d {\n%s\n}", n, strings.Join(lines, "\n"))
}

// counting returns a statement in which a text holds a number that begins with first and rises.
func counting(head, tail string, first int) string {
	index := "i"
	if first > 0 {
		index = fmt.Sprintf("i+%d", first)
	}
	open, shut := strings.LastIndex(head, `"`), strings.Index(tail, `"`)
	format := strings.ReplaceAll(head[open:], "%", "%%") + "%d" + strings.ReplaceAll(tail[:shut+1], "%", "%%")
	return fmt.Sprintf("%sfmt.Sprintf(%s, %s)%s", head[:open], format, index, tail[shut+1:])
}

// looped matches a statement that may stand in a loop: it sets a variable that is there.
var looped = regexp.MustCompile(`^\w+ = `)

// counted reports whether two statements differ in a number within a text only, and returns what is around
// it, and both numbers.
func counted(s, t string) (head, tail string, x, y int, ok bool) {
	k := 0
	for k < min(len(s), len(t)) && s[k] == t[k] {
		k++
	}
	isDigit := func(c byte) bool { return c >= '0' && c <= '9' }
	for k > 0 && isDigit(s[k-1]) {
		k--
	}
	number := func(s string) (int, string) {
		n := 0
		for n < len(s) && isDigit(s[n]) {
			n++
		}
		v, err := strconv.Atoi(s[:n])
		if err != nil || s[0] == '0' && n > 1 {
			return -1, ""
		}
		return v, s[n:]
	}
	if k == len(s) || k == len(t) {
		return "", "", 0, 0, false
	}
	x, restX := number(s[k:])
	y, restY := number(t[k:])
	within := strings.Count(s[:k], `"`)%2 == 1 && !strings.Contains(s, `\`)
	return s[:k], restX, x, y, x >= 0 && y >= 0 && restX == restY && within
}

// functionText writes a function.
func (w *writer) functionText(f *function, all []*item) string {
	params := inputNames(len(f.inputs))
	b := w.newBody(f, f.body, f.inputs, params)
	for _, p := range f.params {
		b.taken[p.name], b.declared[p.name] = true, true
	}
	for i, it := range f.body[:len(f.body)-1] {
		b.statement(i, it, nil)
	}
	signature := "g *graph.Graph"
	if params != nil {
		signature += ", " + strings.Join(params, ", ") + " graph.Tensor"
	}
	if f.named {
		signature += ", name string"
	}
	for i, p := range f.params {
		signature += ", " + p.name
		if i+1 == len(f.params) || f.params[i+1].typ != p.typ {
			signature += " " + p.typ
		}
	}
	var what []string
	for _, it := range f.body {
		if !slices.Contains(what, it.short) {
			what = append(what, it.short)
		}
	}
	doc := fmt.Sprintf("// %s is a part that the network has %d times: %s.\n", f.name, count(f, all), strings.Join(what, ", "))
	if len(doc) > 105 {
		doc = fmt.Sprintf("// %s is a part of %d operators that the network has %d times.\n", f.name, size(f), count(f, all))
	}
	return fmt.Sprintf("%sfunc %s(%s) graph.Tensor {\n%sreturn %s\n}\n", doc, f.name, signature, b.lines(), b.expression(f.body[len(f.body)-1].pieces))
}

// size returns the number of operators of a function.
func size(f *function) (n int) {
	for _, it := range f.body {
		if it.fn != nil {
			n += size(it.fn)
		} else {
			n++
		}
	}
	return n
}

// count returns how often a function is called.
func count(f *function, items []*item) int {
	every := map[*function][]*item{}
	calls(items, every)
	return len(every[f])
}

// extentNames names the extents that callers choose: as the file does, or by their place.
func (w *writer) extentNames() map[int]string {
	names, taken := map[int]string{}, map[string]bool{}
	for i, s := range w.symbols {
		name := goname.Local(s.name)
		if strings.ContainsFunc(s.name, func(r rune) bool { return r >= '0' && r <= '9' || r == '.' || r == ':' }) {
			name = ""
		}
		if name == "" {
			dims := len(w.dims[s.input])
			switch {
			case s.axis == 0:
				name = "batch"
			case dims == 4 && s.axis == 2:
				name = "height"
			case dims == 4 && s.axis == 3:
				name = "width"
			case s.axis == 1 && dims <= 3:
				name = "length"
			default:
				name = fmt.Sprintf("extent%d", s.axis)
			}
		}
		names[i] = unique(name, taken)
	}
	return names
}

// helperTexts are functions that packages have when they need them.
var helperTexts = map[string]string{
	"scalar": `// scalar returns a tensor of one number.
func scalar(g *graph.Graph, value float64, dims ...int) graph.Tensor {
	return full.Apply(g, full.Defaults(attr.ListOf(dims...)).WithValue(value))
}
`,
	"integer": `// integer returns a tensor of one integer.
func integer(g *graph.Graph, value int, dims ...int) graph.Tensor {
	return full.Apply(g, full.Defaults(attr.ListOf(dims...)).WithValueInt(value))
}
`,
	"parameter": `// parameter returns a weight as a tensor. Training changes it.
func parameter(g *graph.Graph, name string, t dtype.Type, dims ...int) graph.Tensor {
	return weight.Apply(g, weight.Defaults(attr.ListOf(dims...)).WithDataType(t), graph.Named(name))
}
`,
	"table": `// table returns a tensor that is stored with the weights. Training does not change it.
func table(g *graph.Graph, name string, t dtype.Type, dims ...int) graph.Tensor {
	return buffer.Apply(g, buffer.Defaults(attr.ListOf(dims...)).WithDataType(t), graph.Named(name))
}
`,
	"extent": `// extent returns the extent of a dimension; 0 after an error, which the graph keeps.
func extent(x graph.Tensor, axis int) int {
	if dims := x.Shape(); axis < len(dims) {
		return dims[axis]
	}
	return 0
}
`,
	"check": `// check returns an error unless a tensor has a type and extents, of which -1 stands for any.
func check(name string, x graph.Tensor, t dtype.Type, dims ...int) error {
	shape := x.Shape()
	ok := x.Type() == t && len(shape) == len(dims)
	for i := range dims {
		ok = ok && (dims[i] < 0 || dims[i] == shape[i])
	}
	if !ok {
		return fmt.Errorf("input %s: want a tensor of %v and extents %v, of which -1 stands for any, got %v", name, t, dims, x)
	}
	return nil
}
`,
}

// helperImports are packages of operators that helpers need.
var helperImports = map[string]string{"scalar": "full", "integer": "full", "parameter": "weight", "table": "buffer"}

// addImports adds the packages that helpers, and all packages, need. Those that are not used are left out
// later.
func (w *writer) addImports() {
	for h, name := range helperImports {
		if w.helpers[h] {
			w.imports[path.Join(w.root, name)] = true
		}
	}
	for _, p := range []string{"fmt", "path/filepath", path.Dir(path.Dir(attrPackage)), attrPackage, path.Join(path.Dir(attrPackage), "dtype"), graphPackage} {
		w.imports[p] = true
	}
}

// imported writes the imports that a file needs: the packages of whose names the rest of its text reads
// members.
func imported(paths map[string]bool, text string) (string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	used := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	var groups [2][]string
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		if !used[path.Base(p)] {
			continue
		}
		k := 0
		if first, _, _ := strings.Cut(p, "/"); strings.Contains(first, ".") {
			k = 1
		}
		groups[k] = append(groups[k], strconv.Quote(p))
	}
	return "import (\n" + strings.Join(groups[0], "\n") + "\n\n" + strings.Join(groups[1], "\n") + "\n)\n", nil
}
