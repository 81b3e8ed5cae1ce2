// Package format writes specs and opgen.toml in one form: the same spaces, blank lines and order of keys. It
// keeps comments, and what a file means.
package format

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/keys"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// File returns the text of a spec, or of opgen.toml, in its form. Keys are put in order, unless a blank line
// stands between them; names that the file gives keep their order. The error is one of syntax,
// a *source.SyntaxError.
func File(name, text string) (string, error) { return file(name, text, false) }

// Simplify is File without what a spec need not say. The spec means the same in the module in which it is.
func Simplify(name, text string) (string, error) { return file(name, text, true) }

func file(name, text string, simpler bool) (string, error) {
	before, serr := source.Parse(name, text)
	if serr != nil {
		return "", serr
	}
	t := spec.KeysOf(before)
	if path.Base(filepath.ToSlash(name)) == config.Name {
		t = config.Keys
	}
	var shorter func([]*source.Item) []*source.Item
	if simpler && t != config.Keys {
		shorter = func(items []*source.Item) []*source.Item { return simplify(name, items) }
	}
	out, err := layout(strings.ReplaceAll(text, "\r\n", "\n"), t, shorter)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if strings.Contains(text, "\r\n") { // as Git writes it on some systems
		out = strings.ReplaceAll(out, "\n", "\r\n")
	}
	after, serr := source.Parse(name, out)
	if serr != nil || !simpler && !same(before, after, t) {
		return "", fmt.Errorf("%s: the file would mean something else if it was formatted: %v", name, serr)
	}
	return out, nil
}

// section is a header with the keys below it. The first section of a file has no header.
type section struct {
	header *source.Item
	items  []*source.Item
	below  []string // comments behind the last key
}

func layout(text string, t *keys.Table, shorter func([]*source.Item) []*source.Item) (string, error) {
	items, end, err := source.Layout(text)
	if err != nil {
		return "", err
	}
	items = unify(items, t)
	if shorter != nil {
		items = shorter(items)
	}
	var p printer
	if len(items) > 0 { // comments at the head of a file stay there
		head, rest := split(items[0].Above)
		p.comments(head)
		if len(p.lines) > 0 && len(rest) > 0 && rest[0] != "" {
			p.blank()
		}
		items[0].Above = rest
	}
	for i, s := range sections(items, t) {
		table := t
		if s.header != nil {
			table = p.head(s.header, i, table)
		}
		p.items(order(s.items, table), table)
		p.comments(s.below)
	}
	p.comments(end)
	p.trim()
	if len(p.lines) == 0 {
		return "", nil
	}
	return p.text(), nil
}

// split divides lines of comments above something into those that a blank line separates from it, and the
// rest. A line for editors, which begins with #:, counts as the former.
func split(lines []string) (apart, own []string) {
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i] == "" || strings.HasPrefix(lines[i], "#:") {
			return lines[:i+1], lines[i+1:]
		}
	}
	return nil, lines
}

// sections divides a file by its headers, and puts the sections in order.
func sections(items []*source.Item, t *keys.Table) []*section {
	list := []*section{{}}
	for _, item := range items {
		last := list[len(list)-1]
		if item.Header == "" {
			last.items = append(last.items, item)
			continue
		}
		apart, own := split(item.Above)
		if slices.ContainsFunc(apart, func(c string) bool { return c != "" }) {
			last.below = apart
			item.Above = append([]string{""}, own...)
		}
		list = append(list, &section{header: item})
	}
	if t == nil || t.Others != nil {
		return list
	}
	rank := func(s *section) int {
		if r, ok := t.Rank(s.header.Name.Keys[0]); ok {
			return r
		}
		return len(t.Keys)
	}
	slices.SortStableFunc(list[1:], func(a, b *section) int { return rank(a) - rank(b) })
	return list
}

// order puts keys in the order of their table. Blank lines divide keys that are put in order.
func order(items []*source.Item, t *keys.Table) []*source.Item {
	var out []*source.Item
	for len(items) > 0 {
		n := 1
		for n < len(items) && !slices.Contains(items[n].Above, "") {
			n++
		}
		var gap []string // the blank line, and comments in front of it, stay in front of all
		if len(items[0].Above) > 0 {
			gap, items[0].Above = split(items[0].Above)
		}
		run := slices.Clone(items[:n])
		byRank(run, t, func(i *source.Item) []string { return i.Name.Keys })
		run[0].Above = append(slices.Clone(gap), run[0].Above...)
		out, items = append(out, run...), items[n:]
	}
	return out
}

// byRank sorts keys, perhaps dotted ones, by their places in their tables. Names that a file gives keep the
// order in which they first stand.
func byRank[E any](list []E, t *keys.Table, name func(E) []string) {
	first := map[string]int{} // where a table or a key first stands
	ranks := map[string][]int{}
	for i, e := range list {
		at, full := t, ""
		var rank []int
		for _, key := range name(e) {
			full += "\x00" + key
			if _, ok := first[full]; !ok {
				first[full] = i
			}
			r, ok := at.Rank(key)
			switch {
			case at == nil || at.Others != nil:
				r = first[full]
			case !ok:
				r = len(at.Keys) + first[full]
			}
			rank, at = append(rank, r), at.Below(key)
		}
		ranks[full] = rank
	}
	of := func(e E) []int { return ranks["\x00"+strings.Join(name(e), "\x00")] }
	slices.SortStableFunc(list, func(a, b E) int { return slices.Compare(of(a), of(b)) })
}

// printer collects lines.
type printer struct{ lines []line }

// line is a line of a file, or several lines of one value.
type line struct {
	key, value string // value follows key and =, if there is a key
	group      string // keys of a group are aligned
	header     bool
	comment    string // behind the value
}

func (p *printer) blank() {
	if n := len(p.lines); n > 0 && p.lines[n-1] != (line{}) {
		p.lines = append(p.lines, line{})
	}
}

// trim drops blank lines at the end.
func (p *printer) trim() {
	for n := len(p.lines); n > 0 && p.lines[n-1] == (line{}); n-- {
		p.lines = p.lines[:n-1]
	}
}

func (p *printer) comments(lines []string) {
	for _, c := range lines {
		if c == "" {
			p.blank()
		} else {
			p.lines = append(p.lines, line{value: c})
		}
	}
}

// head prints the header of section number i, and returns the description of its table.
func (p *printer) head(h *source.Item, i int, t *keys.Table) *keys.Table {
	text := h.Header + h.Name.Text + strings.Repeat("]", len(h.Header))
	again := h.Header == "[[" && p.last(text) // tables of an array may stand close together
	if !again {
		p.blank()
	}
	p.comments(h.Above)
	p.lines = append(p.lines, line{value: text, comment: h.Beside, header: true})
	for _, key := range h.Name.Keys {
		t = t.Below(key)
	}
	return t
}

// last reports whether the last header is the given one.
func (p *printer) last(header string) bool {
	for _, l := range slices.Backward(p.lines) {
		if l.header {
			return l.value == header
		}
	}
	return false
}

func (p *printer) items(items []*source.Item, t *keys.Table) {
	for i, item := range items {
		above := item.Above
		for i == 0 && len(p.lines) > 0 && len(above) > 0 && above[0] == "" && p.lines[len(p.lines)-1].header {
			above = above[1:]
		}
		p.comments(above)
		group := ""
		if len(item.Name.Keys) > 1 {
			group = "." + item.Name.Keys[0]
		}
		p.lines = append(p.lines, line{key: item.Name.Text, value: literal(item.Value, below(t, item.Name), ""), group: group, comment: item.Beside})
	}
}

func below(t *keys.Table, n source.Name) *keys.Table {
	for _, key := range n.Keys {
		t = t.Below(key)
	}
	return t
}

// text returns the lines with keys and comments aligned. Blank lines and headers end what is aligned.
func (p *printer) text() string {
	for i := 0; i < len(p.lines); {
		width, n := 0, i
		for n < len(p.lines) && p.lines[n] != (line{}) && !p.lines[n].header && (p.lines[n].key == "" || p.lines[n].group == p.lines[i].group) {
			width, n = max(width, utf8.RuneCountInString(p.lines[n].key)), n+1
		}
		for k := i; k < n; k++ {
			if l := &p.lines[k]; l.key != "" {
				l.value = l.key + strings.Repeat(" ", width-utf8.RuneCountInString(l.key)) + " = " + l.value
			}
		}
		i = max(n, i+1)
	}
	return strings.Join(beside(p.lines), "\n") + "\n"
}

// beside returns the texts of lines with their comments, which are aligned in lines that follow each other.
func beside(lines []line) []string {
	var out []string
	for i := 0; i < len(lines); {
		if lines[i].comment == "" || strings.Contains(lines[i].value, "\n") {
			out = append(out, strings.TrimRight(lines[i].value+" "+lines[i].comment, " "))
			i++
			continue
		}
		width, n := 0, i
		for n < len(lines) && lines[n].comment != "" && !strings.Contains(lines[n].value, "\n") {
			width, n = max(width, utf8.RuneCountInString(lines[n].value)), n+1
		}
		for ; i < n; i++ {
			out = append(out, lines[i].value+strings.Repeat(" ", width-utf8.RuneCountInString(lines[i].value))+" "+lines[i].comment)
		}
	}
	return out
}

// literal returns a value. Arrays and tables of several lines are indented by two more spaces than what they
// stand in. t describes the table, or the tables of an array.
func literal(v *source.Literal, t *keys.Table, indent string) string {
	if v.Open == "" {
		return short(v.Text)
	}
	if several(v) {
		return lines(v, t, indent)
	}
	elems := slices.Clone(v.Elems)
	if v.Open == "{" {
		byRank(elems, t, func(e *source.Element) []string { return e.Name.Keys })
	}
	var parts []string
	for _, e := range elems {
		parts = append(parts, element(v, e, t, indent))
	}
	switch {
	case v.Open == "[":
		return "[" + strings.Join(parts, ", ") + "]"
	case len(parts) == 0:
		return "{}"
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// short returns a string of one line that is written for several between single quotation marks, or as it is.
func short(text string) string {
	for _, mark := range []string{"'''", `"""`} {
		inner, ok := strings.CutPrefix(text, mark)
		if !ok {
			continue
		}
		inner = strings.TrimPrefix(strings.TrimSuffix(inner, mark), "\n")
		switch {
		case strings.ContainsAny(inner, "\n\\\""):
			// several lines, or characters that would be written in another way
		default:
			return `"` + inner + `"`
		}
	}
	return text
}

// several reports whether an array or a table is written in several lines.
func several(v *source.Literal) bool {
	return slices.ContainsFunc(v.Below, func(c string) bool { return c != "" }) ||
		slices.ContainsFunc(v.Elems, func(e *source.Element) bool { return e.Breaks || len(e.Above) > 0 || e.Beside != "" })
}

// element returns an element of an array, or a key with its value of a table.
func element(of *source.Literal, e *source.Element, t *keys.Table, indent string) string {
	if of.Open == "[" {
		return literal(e.Value, t, indent)
	}
	return e.Name.Text + " = " + literal(e.Value, below(t, e.Name), indent)
}

// lines returns an array or a table of several lines. Elements that share a line in the file do so here.
func lines(v *source.Literal, t *keys.Table, indent string) string {
	var p printer
	for i, e := range v.Elems {
		text := element(v, e, t, indent+"  ")
		if v.Open == "[" || i < len(v.Elems)-1 {
			text += ","
		}
		alone := i == 0 || e.Breaks || len(e.Above) > 0 || v.Elems[i-1].Beside != ""
		p.comments(e.Above)
		if alone {
			p.lines = append(p.lines, line{value: text, comment: e.Beside})
			continue
		}
		last := &p.lines[len(p.lines)-1]
		last.value, last.comment = last.value+" "+text, e.Beside
	}
	p.comments(v.Below)
	p.trim()
	var b strings.Builder
	b.WriteString(v.Open + "\n")
	for _, l := range beside(p.lines) {
		if l != "" {
			l = indent + "  " + l
		}
		b.WriteString(l + "\n")
	}
	return b.String() + indent + map[string]string{"[": "]", "{": "}"}[v.Open]
}

// same reports whether two files mean the same: they have the same values, and names of the file stand in the
// same order.
func same(a, b source.Node, t *keys.Table) bool {
	switch a := a.(type) {
	case *source.Table:
		b, ok := b.(*source.Table)
		if !ok || len(a.Entries) != len(b.Entries) {
			return false
		}
		for i, e := range a.Entries {
			other := b.Get(e.Key)
			if t == nil || t.Others != nil {
				other = b.Entries[i]
			}
			if other == nil || other.Key != e.Key || !same(e.Value, other.Value, t.Below(e.Key)) {
				return false
			}
		}
		return true
	case *source.Array:
		b, ok := b.(*source.Array)
		return ok && slices.EqualFunc(a.Elems, b.Elems, func(x, y source.Node) bool { return same(x, y, t) })
	case *source.Scalar:
		b, ok := b.(*source.Scalar)
		return ok && fmt.Sprintf("%T %v", a.Value, a.Value) == fmt.Sprintf("%T %v", b.Value, b.Value)
	}
	return false
}
