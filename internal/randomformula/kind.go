package randomformula

import (
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// kind is a kind of formulas: those of one form in which implementations have been wrong.
type kind struct {
	name string
	// texts are the forms, one of which is drawn. Statements end at ";". One of the parts of "{a | b}" is
	// drawn, and so is what a word such as $f stands for, which words says. "=>" is followed by statements
	// that mean the same, and whose digits the oracle bounds better.
	texts []string
	// once are words of the kind's own. Each is drawn once for a formula, so that all of its places have the
	// same text.
	once    [][2]string
	numbers string  // how elements are drawn: see Case
	single  bool    // f32 alone
	few     bool    // elements are drawn from few numbers
	run     uint64  // how the use runs beside its plain run, if it always runs so: the remainder of Values by 4, and 1
	some    bool    // no extent is 0
	most    int     // the greatest extent, where products of triangles take its fifth power; 0: any
	plain   bool    // no other operation stands around the results
	apart   float64 // see Case
	wraps   bool    // the attribute size is so great that integers beside it wrap around
	asks    bool    // some outputs are there on request only
	lists   bool    // there are lists of tensors, and an input that may be absent
	sets    bool    // there are attributes that are lists, that may be absent, or that are names
	chance  bool    // there are seeds of random numbers
	fields  bool    // there are attributes that are records
	runs    bool    // there are runs of dimensions, axes and permutations
	applies bool    // the formula applies other operators
	states  bool    // there are weights, which the formula may give anew
	updates bool    // the operator is an optimizer
	any     bool    // those of all other kinds, over nothing: the last kind
}

// Values of run: several workers and small ranges, beside elementwise operators, each gradient alone, and in
// the interpreter.
const divided, grouped, alone, interpreted = 1, 2, 3, 4

// Kinds returns the names of the kinds of formulas.
func Kinds() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// OfKind returns the random operator of a kind, a seed and a number, or nil if there is no such kind.
func OfKind(name string, seed, number uint64) *Case {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return nil
	}
	return kinds[i].formula(seed, number)
}

// formula returns the random operator of a seed and a number.
func (k kind) formula(seed, number uint64) *Case {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, number))}
	w.c = &Case{Name: "op", Features: map[string]bool{k.name: true}, Values: w.Uint64(), Type: w.pick("f32", "f64"), Numbers: k.numbers, Apart: k.apart}
	w.extents()
	for d, n := range w.c.Dims {
		if n > 500 && !w.one(3) { // the oracle goes over all indices of results and of reductions
			w.c.Dims = map[string]int{"N": 1, "K": 1, "M": 1}
			w.c.Dims[d] = n
			break
		}
	}
	for d, n := range w.c.Dims {
		if k.most > 0 {
			w.c.Dims[d] = min(n, k.most)
		}
	}
	w.attributes()
	if k.wraps {
		w.size()
	}
	if k.any { // that of another kind, over nothing
		other := kinds[w.IntN(len(kinds)-1)]
		k.texts, k.once, k.few = other.texts, other.once, w.one(2)
		k.lists, k.sets, k.runs, k.applies, k.states, k.updates = other.lists, other.sets, other.runs, other.applies, other.states, other.updates
		k.chance, k.fields = other.chance, other.fields
		w.c.Dims[w.pick("N", "K", "M")] = 0
	}
	if k.sets {
		w.settings()
	}
	if k.chance {
		w.seed()
	}
	if k.fields {
		w.records()
	}
	if k.single {
		w.c.Type = "f32"
	}
	w.c.Few = k.few || k.numbers == "" && w.one(4)
	if k.run > 0 {
		w.c.Values += k.run - 1 - w.c.Values%4
	}
	if k.some || w.one(2) {
		w.c.Require = []string{"N >= 1", "K >= 1", "M >= 1"}
		for d, n := range w.c.Dims {
			w.c.Dims[d] = max(n, 1)
		}
	}
	text := k.texts[w.IntN(len(k.texts))]
	for _, o := range k.once {
		text = strings.ReplaceAll(text, o[0], w.expand("{"+o[1]+"}"))
	}
	text, meant, _ := strings.Cut(w.expand(text), " => ")
	w.c.Lines = strings.Split(text, " ; ")
	if meant != "" {
		w.c.Meant = strings.Split(meant, " ; ")
	} else if !k.plain {
		w.around()
	}
	if !k.updates && !slices.ContainsFunc(w.c.Lines, func(l string) bool { return l[0] == 'y' }) {
		w.c.Lines = append(w.c.Lines, "y0[n] = u[n]") // a slot of the spec's dtype variable
	}
	for _, in := range inputs {
		w.c.Inputs = append(w.c.Inputs, in.slot)
	}
	if k.lists {
		w.lists()
	}
	if k.states {
		w.c.Inputs = append(w.c.Inputs, owned...)
	}
	if k.updates {
		w.optimizer()
	}
	if k.runs {
		w.runs()
	}
	if mentions(strings.Join(w.c.Lines, "\n"), taps.Name) {
		w.c.Inputs = append(w.c.Inputs, taps)
		w.c.Example["size"] = 2
		w.c.Dims["size"] = w.sizeIs()
	}
	for _, l := range w.c.Lines {
		m := result.FindStringSubmatch(l)
		if m != nil && !slices.ContainsFunc(w.c.Outputs, func(s Slot) bool { return s.Name == m[1]+m[2] }) {
			s := Slot{Name: m[1] + m[2], Type: resultTypes[m[1]], Shape: dimsOf(m[3])}
			if k.runs {
				w.shapeOfRun(&s, m[3])
			}
			w.c.Outputs = append(w.c.Outputs, s)
		}
		if m := listed.FindStringSubmatch(l); m != nil {
			of := listsOf[m[1]]
			w.c.Outputs = append(w.c.Outputs, Slot{Name: m[1] + m[2], Type: "T", Shape: dimsOf(m[3]), Number: of, Of: of})
		}
	}
	if k.asks {
		w.ask()
	}
	if k.applies {
		for _, name := range slices.Sorted(maps.Keys(others)) {
			if mentions(strings.Join(w.c.Lines, "\n"), name) {
				w.c.Applied = append(w.c.Applied, name)
			}
		}
	}
	if k.states || k.updates {
		w.c.Applied = append(w.c.Applied, initializer)
	}
	if k.numbers == "bounds" || k.numbers == "bits" {
		typ := w.pick("i32", "i16", "u16", "u32")
		for _, list := range [][]Slot{w.c.Inputs, w.c.Outputs} {
			for i := range list {
				if strings.HasPrefix(list[i].Name, "short") {
					list[i].Type = typ
				}
			}
		}
	}
	w.c.Tidy()
	for _, s := range w.c.Inputs {
		if s.Below != "" && !slices.Contains(w.c.Extents(s.Shape), 0) {
			w.c.Dims[s.Below] = max(w.c.Dims[s.Below], 1) // no integer from 0 on lies below 0
		}
	}
	if k.single || k.apart > 0 {
		return w.c
	}
	return w.c.half(number)
}

// ask makes some of the outputs, or all, outputs on request.
func (w *writer) ask() {
	always := false
	for i := range w.c.Outputs {
		w.c.Outputs[i].Requested = w.IntN(3) > 0
		always = always || !w.c.Outputs[i].Requested
	}
	w.c.Unasked = always && w.one(4)
}

// result matches the left side of a statement that gives an output, whose name says its type.
var result = regexp.MustCompile(`^(y|at|is|big|byte|tiny|short)(\d)\[(.*?)\] = `)

// listed matches the left side of a statement that gives a list, whose name says how many tensors it has.
var listed = regexp.MustCompile(`^(each|own)(\d)\[i\]\[(.*?)\] = `)

var listsOf = map[string]string{"each": "xs", "own": "ys"}

var resultTypes = map[string]string{"y": "T", "at": "i64", "is": "bool", "big": "u64", "byte": "u8", "tiny": "i8", "short": "i32"}

// total is the dimension in which the extents of all tensors of ys follow each other.
const total = "sum(C)"

// dimsOf returns the dimensions of indices, of which k * M + m makes up one, and so does sum(C[:i]) + c.
func dimsOf(indices string) []string {
	dims := []string{}
	for i := range strings.SplitSeq(indices, ", ") {
		switch outer, inner, joined := strings.Cut(i, " + "); {
		case i == "":
		case joined && strings.HasPrefix(outer, "sum("):
			dims = append(dims, total)
		case joined:
			by, _, _ := strings.Cut(outer, " * ")
			dims = append(dims, strings.ToUpper(by+" * "+inner))
		default:
			dims = append(dims, strings.ToUpper(strings.TrimRight(i, "'")))
		}
	}
	return dims
}

// around puts an operation around a result of real numbers, gives what it is made of a name, or leaves it as
// it is.
func (w *writer) around() {
	for i, l := range w.c.Lines {
		m := result.FindStringSubmatch(l)
		if m == nil || m[1] != "y" || slices.ContainsFunc(w.c.Lines, func(l string) bool { return strings.HasPrefix(l, "grad.") }) {
			continue
		}
		left, x, _ := strings.Cut(l, " = ")
		named := "t9[" + m[3] + "]"
		form := w.pick("", "", "", "tanh(@)", "(@) * limit[]", "(@) - 0.5", "t9", "t9 squared")
		if mentions(m[3], "n") && w.one(8) {
			form = "n > 0 ? (@) : 0.5"
		}
		switch form {
		case "":
		case "t9", "t9 squared":
			w.c.Lines[i] = left + " = " + map[string]string{"t9": "tanh(" + named + ")", "t9 squared": named + " * " + named}[form]
			w.c.Lines = slices.Insert(w.c.Lines, i, named+" = "+x)
			return
		default:
			w.c.Lines[i] = left + " = " + strings.ReplaceAll(form, "@", x)
		}
	}
}

var word = regexp.MustCompile(`\$[a-z]+`)

// expand draws what words and alternatives stand for.
func (w *writer) expand(text string) string {
	for word.MatchString(text) {
		text = word.ReplaceAllStringFunc(text, func(s string) string { return "{" + words[s[1:]] + "}" })
	}
	for {
		end := strings.IndexByte(text, '}')
		if end < 0 {
			return text
		}
		begin := strings.LastIndexByte(text[:end], '{')
		parts := strings.Split(" "+text[begin+1:end]+" ", " | ")
		text = text[:begin] + strings.TrimSpace(w.pick(parts...)) + text[end+1:]
	}
}
