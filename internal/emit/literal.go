package emit

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

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

// literal returns v as Go. Its first line begins at a column, and its other lines are indented by at least indent
// columns. With named, composite literals have a type. Elements have none, since Go infers it.
func (l *literals) literal(v reflect.Value, named bool, indent, column int) string {
	if r, ok := v.Interface().(perm.Redop); ok {
		if _, _, _, own := r.Own(); own {
			return "perm.Redop(" + strconv.Quote(string(r)) + ")"
		}
	}
	if e, ok := enums[v.Type()]; ok {
		return e.prefix + goname.Exported(fmt.Sprint(v))
	}
	switch x := v.Interface().(type) {
	case dtype.Type:
		return "dtype." + dtypeConst(x)
	case perm.Perm:
		return permissions[x]
	case partition.Term:
		if x.Index == partition.All {
			return fmt.Sprintf("partition.Whole(%q)", x.Name)
		}
		return fmt.Sprintf("partition.At(%q, %d)", x.Name, x.Index)
	}
	name := ""
	if named {
		name = v.Type().String()
	}
	switch v.Kind() {
	case reflect.Pointer:
		return l.literal(v.Elem(), false, indent, column) // an element of a list
	case reflect.Struct:
		return composite(name, l.fieldsOf(v, indent+tab), indent, column)
	case reflect.Slice:
		var elems []string
		for i := range v.Len() {
			elems = append(elems, l.literal(v.Index(i), false, indent+tab, indent+tab))
		}
		return composite(name, elems, indent, column)
	case reflect.Map:
		var elems []string
		for _, k := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
			key := strconv.Quote(k.String()) + ": "
			elems = append(elems, key+l.literal(v.MapIndex(k), false, indent+tab, indent+tab+len(key)))
		}
		return composite(name, elems, indent, column)
	case reflect.String:
		return quote(v.String())
	case reflect.Int:
		if v.Int() == task.Unbounded {
			return "task.Unbounded"
		}
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	}
	panic("emit: no literal of type " + v.Type().String())
}

// fieldsOf returns the fields of a struct that are not zero.
func (l *literals) fieldsOf(v reflect.Value, indent int) []string {
	var out []string
	for i := range v.NumField() {
		f, x := v.Type().Field(i), v.Field(i)
		key, tag := f.Name+": ", f.Tag.Get("go")
		text := ""
		switch print := l.fields[v.Type().Name()+"."+f.Name]; {
		case print != nil:
			text = print(v)
		case x.Kind() == reflect.Slice && x.Len() == 0, x.IsZero() && tag != "slot" && !enums[f.Type].zero:
		case tag == "":
			text = l.literal(x, true, indent, indent+len(key))
		case tag == "lines":
			var list []string
			for i := range x.Len() {
				list = append(list, quote(x.Index(i).String()))
			}
			text = spread("[]string", list, indent)
		case x.Kind() == reflect.Slice:
			var list []string
			for i := range x.Len() {
				list = append(list, l.slot(x.Index(i)))
			}
			text = composite("[]int", list, indent, indent+len(key))
		default:
			text = l.slot(x)
		}
		if text != "" {
			out = append(out, key+text)
		}
	}
	return out
}

func (l *literals) slot(number reflect.Value) string { return "int(Slot" + l.slots[number.Int()] + ")" }

// tab is how many columns a tab takes.
const tab = 4

// composite returns a composite literal. If the literal holds others and is too long for its line, each element has a
// line. The lines of literals of plain values are left to breakLines.
func composite(name string, elems []string, indent, column int) string {
	one := name + "{" + strings.Join(elems, ", ") + "}"
	plain := !slices.ContainsFunc(elems, func(e string) bool { return strings.HasSuffix(e, "}}") || strings.HasPrefix(e, "{") })
	if plain || column+len(one) <= width && !strings.Contains(one, "\n") {
		return one
	}
	return spread(name, elems, indent)
}

// spread returns a composite literal that has each element on a line.
func spread(name string, elems []string, indent int) string {
	outer := "\n" + strings.Repeat("\t", indent/tab)
	inner := outer + "\t"
	return name + "{" + inner + strings.Join(elems, ","+inner) + "," + outer + "}"
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
