package tuned

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// File is the usual name of a file of a table.
const File = "tuned.toml"

// edition is the number of the form of files.
const edition = 1

// Problem is a mistake in a file, with its place, from 1. Line is 0 if the place is not known.
type Problem struct {
	File         string
	Line, Column int
	Message      string
}

// Error returns the place and the message.
func (p *Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// Read reads the table of a file. The error joins all problems.
func Read(file string) (*Table, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	t, problems := Parse(file, string(text))
	var errs []error
	for _, p := range problems {
		errs = append(errs, p)
	}
	return t, errors.Join(errs...)
}

// Parse reads a table from TOML; name is that of the file, for messages. The table has the entries that have
// no problem.
func Parse(name, text string) (*Table, []*Problem) {
	r := &reader{name: name, seen: map[key]int{}, table: &Table{}}
	var top map[string]toml.Primitive
	var err error
	if r.meta, err = toml.Decode(text, &top); err != nil {
		r.decoder(err)
		return r.table, r.problems
	}
	if _, ok := top["edition"]; !ok {
		r.problems = append(r.problems, &Problem{r.name, 1, 1, fmt.Sprintf("want edition = %d, got none", edition)})
	}
	for _, k := range slices.Sorted(maps.Keys(top)) {
		switch v := top[k]; k {
		case "edition":
			n := 0
			if err := r.meta.PrimitiveDecode(v, &n); err != nil || n != edition {
				r.at(v, "want edition = %d", edition)
			}
		case "entry":
			var entries []map[string]toml.Primitive
			if err := r.meta.PrimitiveDecode(v, &entries); err != nil {
				r.at(v, "want a list of tables")
			} else if n := r.entries(text); n != len(entries) && len(r.problems) == 0 {
				line := 1 + strings.Count(text[:max(strings.Index(text, "entry"), 0)], "\n") // the decoder does not tell that of a list
				r.problems = append(r.problems, &Problem{r.name, line, 1, fmt.Sprintf("want a line of its own for each of %d entries, got %d lines", len(entries), n)})
			}
		default:
			r.at(v, "want the keys edition and entry, got %s", k)
		}
	}
	return r.table, r.problems
}

// reader reads a file.
type reader struct {
	name     string
	line     int // of the entry that is decoded; 0 for the file
	meta     toml.MetaData
	table    *Table
	seen     map[key]int
	problems []*Problem
}

// key is what only one entry is for.
type key struct {
	Device
	Use
}

// entries reads the entries of a file of TOML, and returns how many lines have one. Each line is decoded by
// itself, since the decoder knows one place for all elements of a list.
func (r *reader) entries(text string) (n int) {
	whole := r.meta
	defer func() { r.meta, r.line = whole, 0 }()
	for line := range strings.Lines(text) {
		if r.line++; !strings.HasPrefix(strings.TrimSpace(line), "{") {
			continue
		}
		var list struct{ E []map[string]toml.Primitive }
		var err error
		if r.meta, err = toml.Decode(listed+line+"]", &list); err != nil || len(list.E) != 1 {
			r.problems = append(r.problems, &Problem{r.name, r.line, 1, "want one entry on a line of its own"})
			continue
		}
		n++
		r.entry(list.E[0])
	}
	return n
}

// listed makes a line with an entry a list.
const listed = "e = ["

// entry reads an entry.
func (r *reader) entry(keys map[string]toml.Primitive) {
	var e Entry
	texts := map[string]*string{"processor": &e.Processor, "operator": &e.Operator, "task": &e.Task, "attrs": &e.Attrs, "types": &e.Types, "shapes": &e.Shapes}
	numbers := map[string]*int{"workers": &e.Workers, "ranges": &e.Ranges}
	most := map[string]int{"workers": 1 << 15, "ranges": mostRanges}
	before := len(r.problems)
	var first toml.Primitive
	line := 0
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		v := keys[k]
		if p := r.place(v); line == 0 || p.Line < line || p.Line == line && p.Column < r.place(first).Column {
			first, line = v, p.Line
		}
		switch {
		case texts[k] != nil:
			if r.meta.PrimitiveDecode(v, texts[k]) != nil || *texts[k] == "" && k != "types" && k != "shapes" {
				r.at(v, "%s: want a text", k)
			} else if k == "attrs" && !json.Valid([]byte(e.Attrs)) {
				r.at(v, "attrs: want JSON, got %q", e.Attrs)
			}
		case numbers[k] != nil:
			if n := numbers[k]; r.meta.PrimitiveDecode(v, n) != nil || *n < 1 || *n > most[k] {
				r.at(v, "%s: want a number from 1 to %d", k, most[k])
			}
		default:
			r.at(v, "want the keys %s, got %s", strings.Join(slices.Sorted(allKeys(texts, numbers)), ", "), k)
		}
	}
	for k := range allKeys(texts, numbers) {
		if _, ok := keys[k]; !ok {
			r.at(first, "want %s in each entry, got none", k)
		}
	}
	if len(r.problems) > before {
		return
	}
	p := r.place(first)
	e.Line, e.Column = p.Line, p.Column
	if other, ok := r.seen[key{e.Device, e.Use}]; ok {
		r.at(first, "want one entry for a device and uses, got another one in line %d", other)
		return
	}
	r.seen[key{e.Device, e.Use}] = e.Line
	r.table.Entries = append(r.table.Entries, e)
}

// allKeys are the keys of an entry.
func allKeys(texts map[string]*string, numbers map[string]*int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, k := range slices.Sorted(maps.Keys(texts)) {
			if !yield(k) {
				return
			}
		}
		for _, k := range slices.Sorted(maps.Keys(numbers)) {
			if !yield(k) {
				return
			}
		}
	}
}

// at adds a problem of a value.
func (r *reader) at(v toml.Primitive, format string, args ...any) {
	p := r.place(v)
	p.Message = fmt.Sprintf(format, args...)
	r.problems = append(r.problems, &p)
}

// place returns where a value is. The decoder says so only of values that it refuses, so it is asked to
// decode the value as one that refuses all texts.
func (r *reader) place(v toml.Primitive) Problem {
	if e := (toml.ParseError{}); errors.As(r.meta.PrimitiveDecode(v, &refusal{}), &e) {
		p := Problem{File: r.name, Line: e.Position.Line, Column: e.Position.Col}
		if r.line > 0 {
			p.Line, p.Column = r.line, p.Column-len(listed)
		}
		return p
	}
	return Problem{File: r.name}
}

// decoder adds the problem of an error of the decoder.
func (r *reader) decoder(err error) {
	p := &Problem{File: r.name, Message: err.Error()}
	if e := (toml.ParseError{}); errors.As(err, &e) {
		p.Line, p.Column, p.Message = e.Position.Line, e.Position.Col, e.Message
	}
	r.problems = append(r.problems, p)
}

// refusal is a value that no text is.
type refusal struct{}

func (*refusal) UnmarshalText([]byte) error { return errors.New("refused") }

// Text returns the table as a file: sorted, with an entry on each line.
func (t *Table) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Choices that opgen tune has measured, one a line. They change the time of tasks, and no results.\nedition = %d\nentry = [\n", edition)
	entries := slices.Clone(t.Entries)
	slices.SortFunc(entries, func(x, y Entry) int { return compare(&x, &y) })
	for _, e := range entries {
		fmt.Fprintf(&b, "  { processor = %s, workers = %d, operator = %s, task = %s, attrs = %s, types = %s, shapes = %s, ranges = %d },\n",
			quoted(e.Processor), e.Workers, quoted(e.Operator), quoted(e.Task), quoted(e.Attrs), quoted(e.Types), quoted(e.Shapes), e.Ranges)
	}
	b.WriteString("]\n")
	return b.String()
}

// quoted returns a text as TOML has it: between single quotes if it has double ones, such as JSON.
func quoted(s string) string {
	plain := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\'' }) < 0
	if plain && strings.ContainsAny(s, `"\`) {
		return "'" + s + "'"
	}
	if plain {
		return `"` + s + `"`
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}
