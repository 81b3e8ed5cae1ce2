package emit

import (
	"fmt"
	"go/format"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// literals prints run-time values as Go. Fields that are zero are left out.
type literals struct {
	// slots holds the Go names of slots by number. A field with the tag go:"slot" is the number of a slot, or
	// a list of such numbers. With the tag go:"slot,omitzero", zero is left out. The tag go:"lines" puts each
	// string of a list on a line.
	slots []string
	// fields holds, by "Type.Field", functions that print a field of a struct, such as one that holds a
	// function. "" leaves the field out.
	fields map[string]func(of reflect.Value) string
}

// enum says how the constants of a type are named.
type enum struct {
	prefix string // before the exported form of what String returns
	zero   bool   // whether zero is one of the constants
}

var enums = map[reflect.Type]enum{
	reflect.TypeFor[task.Kind]():      {"task.Kind", true},
	reflect.TypeFor[task.Role]():      {"task.Role", true},
	reflect.TypeFor[task.Source]():    {"task.From", true},
	reflect.TypeFor[perm.Redop]():     {"perm.", false},
	reflect.TypeFor[partition.Kind](): {"partition.", true},
	reflect.TypeFor[partition.Hint](): {"partition.", false},
}

// permissions holds the names of permissions. They do not follow from what String returns, which is one word.
var permissions = map[perm.Perm]string{
	perm.Read: "perm.Read", perm.Write: "perm.Write", perm.ReadWrite: "perm.ReadWrite", perm.Reduce: "perm.Reduce", perm.Scratch: "perm.Scratch",
}

// elem is an element of a composite literal, or a whole literal. text is a line, or breaks lines that
// go/format has not seen; if laid, it has the form that go/format gives it.
type elem struct {
	key, text string // key is "" or ends with ": "
	laid      bool
	sum       bool // whether it is a string, which may be a sum of pieces
}

func (x elem) String() string { return x.key + x.text }

// literal returns v as Go. Its first line begins at a column, and its other lines are indented by at least
// indent columns. With named, composite literals have a type. Elements have none, since Go infers it.
func (l *literals) literal(v reflect.Value, named bool, indent, column int) elem {
	if text, ok := plain(v); ok {
		return elem{text: text, sum: v.Kind() == reflect.String}
	}
	name := ""
	if named {
		name = v.Type().String()
	}
	var elems []elem
	switch v.Kind() {
	case reflect.Pointer:
		return l.literal(v.Elem(), false, indent, column) // an element of a list
	case reflect.Struct:
		elems = l.fieldsOf(v, indent+tab)
	case reflect.Slice:
		for i := range v.Len() {
			elems = append(elems, l.literal(v.Index(i), false, indent+tab, indent+tab))
		}
	case reflect.Map:
		for _, k := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
			key := strconv.Quote(k.String()) + ": "
			x := l.literal(v.MapIndex(k), false, indent+tab, indent+tab+len(key))
			x.key = key
			elems = append(elems, x)
		}
	}
	return l.composite(name, elems, indent, column)
}

// plain returns a value that is no composite literal as Go.
func plain(v reflect.Value) (string, bool) {
	if r, ok := v.Interface().(perm.Redop); ok {
		if _, _, _, own := r.Own(); own {
			return "perm.Redop(" + strconv.Quote(string(r)) + ")", true
		}
	}
	if e, ok := enums[v.Type()]; ok {
		return e.prefix + goname.Exported(fmt.Sprint(v)), true
	}
	switch x := v.Interface().(type) {
	case dtype.Type:
		return "dtype." + dtypeConst(x), true
	case perm.Perm:
		return permissions[x], true
	case partition.Term:
		if x.Index == partition.All {
			return fmt.Sprintf("partition.Whole(%q)", x.Name), true
		}
		return fmt.Sprintf("partition.At(%q, %d)", x.Name, x.Index), true
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Struct, reflect.Slice, reflect.Map:
		return "", false
	case reflect.String:
		return quote(v.String()), true
	case reflect.Int:
		if v.Int() == task.Unbounded {
			return "task.Unbounded", true
		}
		return strconv.FormatInt(v.Int(), 10), true
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64), true
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), true
	}
	panic("emit: no literal of type " + v.Type().String())
}

// fieldsOf returns the fields of a struct that are not zero.
func (l *literals) fieldsOf(v reflect.Value, indent int) []elem {
	var out []elem
	for i := range v.NumField() {
		f, x := v.Type().Field(i), v.Field(i)
		key, tag := f.Name+": ", f.Tag.Get("go")
		var text elem
		switch print := l.fields[v.Type().Name()+"."+f.Name]; {
		case print != nil:
			text.text = print(v)
		case x.Kind() == reflect.Slice && x.Len() == 0, x.IsZero() && tag != "slot" && !enums[f.Type].zero:
		case tag == "":
			text = l.literal(x, true, indent, indent+len(key))
		case tag == "lines":
			var list []elem
			for i := range x.Len() {
				list = append(list, elem{text: quote(x.Index(i).String()), sum: true})
			}
			text = l.spread("[]string", list, indent)
		case x.Kind() == reflect.Slice:
			var list []elem
			for i := range x.Len() {
				list = append(list, elem{text: l.slot(x.Index(i))})
			}
			text = l.composite("[]int", list, indent, indent+len(key))
		default:
			text.text = l.slot(x)
		}
		if text.text != "" {
			text.key = key
			out = append(out, text)
		}
	}
	return out
}

func (l *literals) slot(number reflect.Value) string { return "int(Slot" + l.slots[number.Int()] + ")" }

// tab is how many columns a tab takes.
const tab = 4

// composite returns a composite literal. If the literal holds others and is too long for its line, each
// element has a line. The lines of literals of plain values are left to breakLines.
func (l *literals) composite(name string, elems []elem, indent, column int) elem {
	var texts []string
	plain := true
	for _, x := range elems {
		texts = append(texts, x.String())
		plain = plain && !strings.HasSuffix(x.text, "}}") && (x.key != "" || !strings.HasPrefix(x.text, "{")) &&
			(x.sum || !strings.Contains(x.text, "\n"))
	}
	one := name + "{" + strings.Join(texts, ", ") + "}"
	if plain || column+len(one) <= width && !strings.Contains(one, "\n") {
		return elem{text: one}
	}
	return l.spread(name, elems, indent)
}

// longestKey is how long keys are whose values go/format puts in one column, whatever the lengths of the
// other keys.
const longestKey = 40

// spread returns a composite literal that has each element on a line, in the form that go/format gives it:
// values that follow each other and have a line each begin in one column. An element that breaks its line
// otherwise is left to go/format.
//
// All of it could be left to go/format, but that takes far longer for literals within literals: it prints
// each of them once for every one around it, to find out how long it is.
func (l *literals) spread(name string, elems []elem, indent int) elem {
	begin := "\n" + strings.Repeat("\t", indent/tab+1)
	fits := make([]bool, len(elems)) // whether the element has one line
	laid := true
	for i := range elems {
		x := &elems[i]
		fits[i] = !strings.Contains(x.text, "\n") && breakAt(begin[1:]+x.String()+",") == 0
		if !fits[i] && !x.laid {
			*x = formatted(*x, indent+tab)
		}
		laid = laid && (fits[i] || x.laid) && len(x.key) <= longestKey
	}
	var b strings.Builder
	b.WriteString(name + "{")
	column := 0 // of values, from where keys begin
	for i, x := range elems {
		b.WriteString(begin + x.key)
		if fits[i] && x.key != "" && laid {
			if i == 0 || !fits[i-1] {
				column = 0
				for k := i; k < len(elems) && fits[k]; k++ {
					column = max(column, utf8.RuneCountInString(elems[k].key))
				}
			}
			b.WriteString(strings.Repeat(" ", column-utf8.RuneCountInString(x.key)))
		}
		b.WriteString(x.text + ",")
	}
	b.WriteString(begin[:len(begin)-1] + "}")
	return elem{text: b.String(), laid: laid}
}

// formatted returns an element whose lines are broken, and which is indented, as go/format formats it. An
// element that does not parse is returned as it is. The lines of a sum need no formatter.
func formatted(x elem, indent int) elem {
	tabs := strings.Repeat("\t", indent/tab)
	if x.sum && breakLines(tabs+x.String()) == tabs+x.String() {
		return elem{key: x.key, text: strings.ReplaceAll(x.text, "\n", "\n"+tabs+"\t"), laid: true}
	}
	const open, end = "var _ = T{\n", "\n}\n"
	src, err := format.Source([]byte(open + breakLines(tabs+x.String()+",") + end))
	if err != nil {
		return x
	}
	text := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(string(src), open+"\t"), ","+end), "\n\t", "\n"+tabs)
	text, ok := strings.CutPrefix(text, x.key)
	return elem{key: x.key, text: text, laid: ok}
}

// quote returns a string as Go, in back quotes if that saves escapes. A long string becomes a sum of pieces.
// Each piece ends with a space or a comma.
func quote(s string) string {
	mark := strconv.Quote
	if strings.ContainsRune(s, '"') && !strings.ContainsAny(s, "`\n\r") {
		mark = func(s string) string { return "`" + s + "`" }
	}
	const longest = width - 6*tab
	var pieces []string
	for len(s) > longest {
		end := strings.LastIndexAny(s[:longest], " ,") + 1
		if end == 0 {
			break
		}
		pieces, s = append(pieces, mark(s[:end])), s[end:]
	}
	return strings.Join(append(pieces, mark(s)), " +\n")
}
