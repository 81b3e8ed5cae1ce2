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
	// slots holds the Go names of slots by number.
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

// literal returns v as Go. Its first line begins at a column, and its other lines are indented by at least
// indent columns. With named, composite literals have a type. Elements have none, since Go infers it.
func (l *literals) literal(v reflect.Value, named bool, indent, column int) string {
	if text, ok := l.call(v); ok {
		return text
	}
	if text, ok := plain(v); ok {
		return text
	}
	name := ""
	if named {
		name = v.Type().String()
	}
	var elems []string
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
			elems = append(elems, key+l.literal(v.MapIndex(k), false, indent+tab, indent+tab+len(key)))
		}
	}
	return composite(name, elems, indent, column)
}

// call returns a value that has slots as a call of a function of package opimpl, which takes them with their
// type.
func (l *literals) call(v reflect.Value) (string, bool) {
	slot := func(number int) string { return "Slot" + l.slots[number] }
	switch x := v.Interface().(type) {
	case []task.Param:
		return l.params(x), true
	case task.InPlace:
		if x.View {
			return fmt.Sprintf("opimpl.ViewOf(%s, %s)", slot(x.Slot), slot(x.Of)), true
		}
		return fmt.Sprintf("opimpl.InPlace(%s, %s)", slot(x.Slot), slot(x.Of)), true
	case task.FusionSlot:
		return fmt.Sprintf("opimpl.Pair(%q, %s)", x.Other, slot(x.Own)), true
	case task.Arg:
		args := []string{slot(x.Slot), enums[reflect.TypeFor[task.Source]()].prefix + goname.Exported(x.From.String())}
		if x.Of != 0 || x.From == task.FromShape {
			args = append(args, "opimpl.PartitionOf("+slot(x.Of)+")")
		}
		if x.Default != "" {
			args = append(args, "opimpl.Default("+quote(x.Default)+")")
		}
		if x.Unchecked {
			args = append(args, "opimpl.Unchecked")
		}
		return fmt.Sprintf("opimpl.Arg[%s](%s)", l.fields["Arg.Type"](v), strings.Join(args, ", ")), true
	}
	return "", false
}

// params returns the parameters of a task as Go: a call for each run of those that are alike but for the
// slot.
func (l *literals) params(list []task.Param) string {
	var calls []string
	for i := 0; i < len(list); {
		p := list[i]
		var slots []string
		for ; i < len(list); i++ {
			like := list[i]
			if like.Slot = p.Slot; like != p {
				break
			}
			slots = append(slots, "Slot"+l.slots[list[i].Slot])
		}
		head := "opimpl.Take(" + permissions[p.Perm]
		redop, _ := plain(reflect.ValueOf(p.Redop))
		switch {
		case p.Scatter:
			head = "opimpl.AddToGrads("
		case p.Grad:
			head = "opimpl.TakeGrads(" + permissions[p.Perm]
		case p.Perm == perm.Reduce:
			head = "opimpl.FoldInto(" + redop
		case p.Optional:
			head = "opimpl.TakeIf(" + permissions[p.Perm]
		}
		if !p.Scatter {
			head += ", "
		}
		calls = append(calls, head+strings.Join(slots, ", ")+")")
	}
	if len(calls) == 1 {
		return calls[0]
	}
	return "opimpl.Params(\n" + strings.Join(calls, ",\n") + ",\n)"
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
func (l *literals) fieldsOf(v reflect.Value, indent int) []string {
	var out []string
	for i := range v.NumField() {
		f, x := v.Type().Field(i), v.Field(i)
		key, text := f.Name+": ", ""
		switch print := l.fields[v.Type().Name()+"."+f.Name]; {
		case print != nil:
			text = print(v)
		case x.Kind() == reflect.Slice && x.Len() == 0, x.IsZero() && !enums[f.Type].zero:
		case f.Tag.Get("go") == "lines": // each string of the list on a line
			var list []string
			for i := range x.Len() {
				list = append(list, raw(x.Index(i).String()))
			}
			text = spread("[]string", list)
		default:
			text = l.literal(x, true, indent, indent+len(key))
		}
		if text != "" {
			out = append(out, key+text)
		}
	}
	return out
}

// composite returns a composite literal. If the literal holds others and is too long for its line, each
// element has a line. The lines of literals of plain values are left to breakLines.
func composite(name string, elems []string, indent, column int) string {
	one := name + "{" + strings.Join(elems, ", ") + "}"
	plain := !slices.ContainsFunc(elems, func(x string) bool {
		return strings.HasSuffix(x, "}}") || strings.HasPrefix(x, "{") || strings.HasSuffix(x, "\n)") || strings.Contains(x, "{\n")
	})
	if plain || column+len(one) <= width && !strings.Contains(one, "\n") {
		return one
	}
	return spread(name, elems)
}

// spread returns a composite literal that has each element on a line.
func spread(name string, elems []string) string {
	return name + "{\n" + strings.Join(elems, ",\n") + ",\n}"
}

// quote returns a string as Go. A long string becomes a sum of pieces, each of which ends with a space or a
// comma.
func quote(s string) string {
	const longest = width - 6*tab
	var pieces []string
	for len(s) > longest {
		end := strings.LastIndexAny(s[:longest], " ,") + 1
		if end == 0 {
			break
		}
		pieces, s = append(pieces, raw(s[:end])), s[end:]
	}
	return strings.Join(append(pieces, raw(s)), " +\n")
}

// raw returns a string as Go, in back quotes if that saves escapes.
func raw(s string) string {
	if strings.ContainsRune(s, '"') && !strings.ContainsAny(s, "`\n\r") {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
