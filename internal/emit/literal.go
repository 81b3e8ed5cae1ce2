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
	// slots holds the Go names of slots by number. An integer with the tag go:"slot" is the number of a slot, and so are
	// the elements of a list with that tag. The tag go:"slot,omitzero" leaves a zero out.
	slots []string
	// fields prints fields that hold no values here, such as functions: by "Type.Field", given the struct. "" leaves
	// the field out.
	fields map[string]func(of reflect.Value) string
}

// enum says how the constants of a type are called.
type enum struct {
	prefix string // before the exported form of what String returns
	zero   bool   // whether fields that are zero have a value worth printing
}

var enums = map[reflect.Type]enum{
	reflect.TypeFor[task.Kind]():      {"task.Kind", true},
	reflect.TypeFor[task.Role]():      {"task.Role", true},
	reflect.TypeFor[task.Source]():    {"task.From", true},
	reflect.TypeFor[perm.Redop]():     {"perm.", false},
	reflect.TypeFor[partition.Kind](): {"partition.", true},
	reflect.TypeFor[partition.Hint](): {"partition.", false},
}

// permissions holds the names of permissions, one of which has two words.
var permissions = map[perm.Perm]string{
	perm.Read: "perm.Read", perm.Write: "perm.Write", perm.ReadWrite: "perm.ReadWrite", perm.Reduce: "perm.Reduce", perm.Scratch: "perm.Scratch",
}

// literal returns v as Go. Its first line begins at a column, other lines are indented by at least indent. Elements of
// composite literals are not named: their type follows from that around them.
func (l *literals) literal(v reflect.Value, named bool, indent, column int) string {
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

// composite returns a composite literal. One that is too long for its line, and in which others stand, has an element on
// each line; layout breaks the lines of those that hold plain values.
func composite(name string, elems []string, indent, column int) string {
	one := name + "{" + strings.Join(elems, ", ") + "}"
	plain := !slices.ContainsFunc(elems, func(e string) bool { return strings.HasSuffix(e, "}}") || strings.HasPrefix(e, "{") })
	if plain || column+len(one) <= width && !strings.Contains(one, "\n") {
		return one
	}
	return name + "{\n" + strings.Join(elems, ",\n") + ",\n}"
}

// quote returns a string as Go, in back quotes if that saves escapes. A long one is a sum of pieces, which end behind a
// space or a comma.
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
