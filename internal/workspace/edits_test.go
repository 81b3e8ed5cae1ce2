package workspace_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/opgen/opgen/internal/workspace"
)

var (
	edits = flag.Int("edits", 200, "how many random edits TestEdits makes")
	seed  = flag.Uint64("seed", 1, "of the edits")
)

const more = `-- specs/start.toml --
kind    = "initializer"
doc     = "Fills a weight."
formula = "output[#n] = value for n < prod(N)"
attrs   = { value = { type = "float", default = 0.5 } }
slots   = { output = { role = "output", shape = ["N..."] } }
-- specs/bias.toml --
doc     = "Adds a bias."
formula = "output[n, k] = curve(input[n, k] + bias[k])"
examples = [{ input = [2, 3] }]
[attrs]
curve = { type = "enum", enum = "curve", default = "HALF" }
[slots]
input  = { role = "input", shape = ["N...", "K"] }
bias   = { role = "weight", shape = ["K"], init = "start" }
output = { role = "output", shape = ["N...", "K"] }
-- specs/sums.toml --
doc     = "Sums rows of mixed rows."
formula = "output[n] = sum(o < 4: twice(input, weight)[n, o])"
examples = [{ input = [2, 3], weight = [4, 3] }]
[slots]
input  = { role = "input", shape = ["N...", "K"] }
weight = { role = "input", shape = [4, "K"] }
output = { role = "output", shape = ["N..."] }
`

// editor makes random edits of the specs of a module.
type editor struct {
	*rand.Rand
	original map[string]string
	texts    map[string]string
	pieces   []string
}

func newEditor(seed uint64, a *txtar.Archive) *editor {
	e := &editor{rand.New(rand.NewPCG(seed, 1)), map[string]string{}, map[string]string{}, nil}
	for _, f := range a.Files {
		if strings.HasPrefix(f.Name, "specs/") {
			e.original[f.Name] = string(f.Data)
			for line := range strings.Lines(string(f.Data)) {
				e.pieces = append(e.pieces, line)
				e.pieces = append(e.pieces, strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" =,[]{}()\n", r) })...)
			}
		}
	}
	e.pieces = append(e.pieces, "name = \"mix\"\n", "name = \"other\"\n", "'''", "\"", "{", "}", "[", "]", "\n", "\u00e9", "\U0001d54a", "\xff", "#", "=", "=\n", "'", ".", "init = \"start\"")
	maps.Copy(e.texts, e.original)
	return e
}

// step makes an edit, and returns the path of the file that it changed.
func (e *editor) step() string {
	paths := slices.Sorted(maps.Keys(e.original))
	p := paths[e.IntN(len(paths))]
	text := e.texts[p]
	at := e.IntN(len(text) + 1)
	end := min(len(text), at+e.IntN(12))
	piece := e.pieces[e.IntN(len(e.pieces))]
	switch e.IntN(12) {
	case 0, 1, 2:
		e.texts[p] = text[:at] + piece + text[at:]
	case 3, 4:
		e.texts[p] = text[:at] + text[end:]
	case 5:
		e.texts[p] = text[:at] + piece + text[end:]
	case 6: // a line goes
		start := strings.LastIndexByte(text[:at], '\n') + 1
		n := strings.IndexByte(text[at:], '\n')
		e.texts[p] = text[:start] + text[at+n+1:]
	case 7: // a word becomes another one
		if w := e.pieces[e.IntN(len(e.pieces))]; strings.TrimSpace(w) != "" {
			e.texts[p] = strings.Replace(text, strings.TrimSpace(w), strings.TrimSpace(piece), 1)
		}
	case 8:
		delete(e.texts, p)
	case 9: // a file becomes a copy of another one
		e.texts[p] = e.original[paths[e.IntN(len(paths))]]
	default: // otherwise most files would be broken soon
		e.texts[p] = e.original[p]
	}
	return p
}

// everything is all that a snapshot answers about a file, as text.
func everything(t testing.TB, s *workspace.Snapshot, path string, at int) string {
	ctx := context.Background()
	var b strings.Builder
	found, err := s.All(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&b, "%s:\n%s", p, text(t, found[p]))
	}
	one, _ := s.Findings(ctx, path)
	b.WriteString(text(t, one))
	for _, n := range s.Names(path) {
		fmt.Fprintln(&b, n.Span.Pos(), n.Text, n.Kind, n.Spec, n.Of, n.Declares)
	}
	hints, _ := s.Hints(ctx, path)
	for _, h := range hints {
		fmt.Fprintln(&b, h.At.Pos(), h.Text, h.Tip)
	}
	h, _ := s.Hover(ctx, path, at)
	if h != nil {
		fmt.Fprintln(&b, h.Text)
	}
	list, span := s.Complete(path, at)
	fmt.Fprintln(&b, list, span.Start, span.End)
	for _, d := range s.Definition(path, at) {
		fmt.Fprintln(&b, d.Pos())
	}
	refs, _ := s.References(ctx, path, at, true)
	for _, d := range refs {
		fmt.Fprintln(&b, d.Pos())
	}
	renames, err := s.Rename(path, at, "renamed")
	fmt.Fprintln(&b, len(renames), err)
	for _, x := range s.Outline(path) {
		fmt.Fprintln(&b, x.Name, x.Detail, len(x.Below))
	}
	for _, x := range s.Format(path) {
		fmt.Fprintln(&b, x.Span.Start, x.Span.End, x.New)
	}
	return b.String()
}

// After any number of edits, a snapshot answers as one of a fresh start does.
func TestEdits(t *testing.T) {
	a := txtar.Parse([]byte(layers + more))
	e := newEditor(*seed, a)
	d := module(t, &txtar.Archive{Files: slices.DeleteFunc(slices.Clone(a.Files), func(f txtar.File) bool { return strings.HasPrefix(f.Name, "specs/") })})
	var c workspace.Cache
	for i := range *edits {
		p := e.step()
		texts, err := d.Texts(e.texts)
		if err != nil {
			t.Fatal(err)
		}
		at := e.IntN(len(e.texts[p]) + 1)
		if i%8 == 7 { // a canceled check must leave nothing behind
			ctx, cancel := context.WithCancel(context.Background())
			go cancel()
			_, _ = c.Open(texts).All(ctx, p)
		}
		got, want := everything(t, c.Open(texts), p, at), everything(t, (&workspace.Cache{}).Open(texts), p, at)
		if got != want {
			t.Fatalf("edit %d of seed %d, in %s at %d:\n%s\nafter the edits\n%s\nafter a fresh start\n%s", i, *seed, p, at, e.texts[p], got, want)
		}
		if strings.Contains(got, "it has a bug") {
			t.Fatalf("edit %d of seed %d, in %s:\n%s\n%s", i, *seed, p, e.texts[p], got)
		}
	}
}
