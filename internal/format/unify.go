package format

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/opgen/opgen/internal/keys"
	"github.com/opgen/opgen/internal/source"
)

// flat lists the sections of specs whose tables stand on one line each: attribute by attribute, slot by slot.
var flat = []string{"dtypes", "attrs", "dims", "args", "slots", "require", "cost"}

// maxEntry is how many characters a table may take on one line. A wider one is written as dotted keys.
const maxEntry = 200

// unify writes the tables of flat sections in one form, and examples as one array.
func unify(items []*source.Item, t *keys.Table) []*source.Item {
	for _, name := range flat {
		if t.Key(name) != nil {
			items = flatten(items, name, t.Below(name))
		}
	}
	if t.Key("examples") != nil {
		items = oneArray(items, "examples")
	}
	return items
}

// flatten gathers the keys of a section and of those below it, such as [slots] and [slots.input], under the
// first header, and writes each table on one line.
func flatten(items []*source.Item, section string, t *keys.Table) []*source.Item {
	var out, own []*source.Item
	var header *source.Item // that of the section
	at := -1
	for i := 0; i < len(items); {
		h := items[i]
		n := i + 1
		for n < len(items) && items[n].Header == "" {
			n++
		}
		switch {
		case h.Header == "" || h.Name.Keys[0] != section:
			out = append(out, items[i:n]...)
			i = n
			continue
		case h.Header == "[[": // no table of a section is one of an array
			return items
		}
		if at < 0 {
			at = len(out)
		}
		if len(h.Name.Keys) == 1 {
			if header != nil && at >= 0 {
				return items
			}
			header, own = h, append(own, items[i+1:n]...)
			i = n
			continue
		}
		below := under(h, items[i+1:n])
		own = append(own, below...)
		i = n
	}
	if at < 0 {
		return items
	}
	if header == nil {
		header = &source.Item{Header: "[", Name: source.Name{Keys: []string{section}, Text: section}}
	}
	return slices.Insert(out, at, append([]*source.Item{header}, entries(own, t)...)...)
}

// under returns the keys below a header as dotted keys of the section in which the header's table is.
func under(h *source.Item, list []*source.Item) []*source.Item {
	name := source.Name{Keys: h.Name.Keys[1:], Text: strings.SplitN(h.Name.Text, ".", 2)[1]}
	var above []string
	for _, c := range append(slices.Clone(h.Above), h.Beside) {
		if c != "" {
			above = append(above, c)
		}
	}
	if len(list) == 0 {
		return []*source.Item{{Above: above, Name: name, Value: &source.Literal{Open: "{"}}}
	}
	var out []*source.Item
	for i, x := range list {
		y := *x
		y.Name = source.Name{Keys: slices.Concat(name.Keys, x.Name.Keys), Text: name.Text + "." + x.Name.Text}
		if i == 0 {
			for len(y.Above) > 0 && y.Above[0] == "" {
				y.Above = y.Above[1:]
			}
			y.Above = slices.Concat(above, y.Above)
		}
		out = append(out, &y)
	}
	return out
}

// entries writes dotted keys that follow each other and begin with the same name as one table, where it fits
// a line.
func entries(items []*source.Item, t *keys.Table) []*source.Item {
	var out []*source.Item
	items = order(items, t)
	runs := map[string]int{} // of keys that begin with a name
	for i, x := range items {
		if name := x.Name.Keys[0]; i == 0 || items[i-1].Name.Keys[0] != name {
			runs[name]++
		}
	}
	for i := 0; i < len(items); {
		n := i + 1
		for n < len(items) && items[n].Name.Keys[0] == items[i].Name.Keys[0] {
			n++
		}
		if one := entry(items[i:n], t); one != nil && runs[items[i].Name.Keys[0]] == 1 {
			out = append(out, one)
		} else {
			out = append(out, items[i:n]...)
		}
		i = n
	}
	return out
}

// entry returns the table that dotted keys make, or nil if they are none or do not fit a line.
func entry(items []*source.Item, t *keys.Table) *source.Item {
	last := len(items) - 1
	name, _, dotted := strings.Cut(items[0].Name.Text, ".")
	if !dotted || strings.ContainsAny(items[0].Name.Text, `"'`) {
		return nil
	}
	one := &source.Item{Above: items[0].Above, Name: source.Name{Keys: items[0].Name.Keys[:1], Text: name}, Value: &source.Literal{Open: "{"}, Beside: items[last].Beside}
	for i, x := range items {
		_, text, dotted := strings.Cut(x.Name.Text, ".")
		if !dotted || i > 0 && len(x.Above) > 0 || i < last && x.Beside != "" || !oneLine(x.Value) {
			return nil
		}
		one.Value.Elems = append(one.Value.Elems, &source.Element{Name: source.Name{Keys: x.Name.Keys[1:], Text: text}, Value: x.Value})
	}
	if utf8.RuneCountInString(name+" = "+literal(one.Value, t.Below(one.Name.Keys[0]), "")) > maxEntry {
		return nil
	}
	return one
}

// oneLine reports whether a value stands on one line.
func oneLine(v *source.Literal) bool {
	return !strings.Contains(literal(v, nil, ""), "\n")
}

// oneArray writes tables of an array, [[name]], as one array, an element on a line, where all of them fit a
// line.
func oneArray(items []*source.Item, name string) []*source.Item {
	var rest []*source.Item
	array := &source.Item{Name: source.Name{Keys: []string{name}, Text: name}, Value: &source.Literal{Open: "["}}
	for i := 0; i < len(items); {
		n := i + 1
		for n < len(items) && items[n].Header == "" {
			n++
		}
		h := items[i]
		if h.Header == "" || h.Name.Keys[0] != name {
			rest = append(rest, items[i:n]...)
			i = n
			continue
		}
		if h.Header != "[[" || len(h.Name.Keys) > 1 {
			return items
		}
		e := &source.Element{Breaks: true, Beside: h.Beside, Value: &source.Literal{Open: "{"}}
		for _, c := range h.Above {
			if c != "" {
				e.Above = append(e.Above, c)
			}
		}
		for _, x := range items[i+1 : n] {
			if len(x.Above) > 0 || x.Beside != "" || !oneLine(x.Value) {
				return items
			}
			e.Value.Elems = append(e.Value.Elems, &source.Element{Name: x.Name, Value: x.Value})
		}
		if utf8.RuneCountInString(literal(e.Value, nil, "")) > maxEntry {
			return items
		}
		array.Value.Elems = append(array.Value.Elems, e)
		i = n
	}
	if len(array.Value.Elems) == 0 {
		return items
	}
	top := slices.IndexFunc(rest, func(x *source.Item) bool { return x.Header != "" })
	if top < 0 {
		top = len(rest)
	}
	return slices.Insert(rest, top, array)
}
