// Package workspace answers what an editor asks about the specs of a module: what is wrong, what a name
// means, where else it stands, and what may be written at a place.
//
// A Snapshot holds the texts of a module at one moment. What it answers depends on these texts only, so an
// answer is the same after any number of edits as after a fresh start. A Cache keeps results from one
// snapshot to the next, by the texts that they depend on.
package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/parallel"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// Texts are the files of a module.
type Texts struct {
	Root   string         // the module's folder, absolute
	Config string         // the text of opgen.toml
	Specs  []driver.Input // sorted by path
	// Kernels are the texts of kernels by hand that are open in an editor, by path.
	Kernels map[string]string
	// Rest is a checksum of all other files on which findings depend, such as go.mod and kernels.
	Rest string
}

// Snapshot is a module at one moment. Several goroutines may use it.
type Snapshot struct {
	Texts
	Ground *driver.Ground

	cache *Cache
	err   error // why the module cannot be checked
	files map[string]*file
	paths []string // of files, sorted
	named map[string]*spec.Spec
	// between holds the findings between specs.
	between *diag.List
}

// sum is a checksum.
type sum = [sha256.Size]byte

// file is a spec in a snapshot.
type file struct {
	*reading
	counts bool // whether no other spec has its name instead
	part   []driver.Input
	key    sum // of results without findings
	exact  sum // of findings

	named sync.Once
	names []Name
}

// reading is what the text of a spec alone says.
type reading struct {
	in       driver.Input
	sum      sum
	meaning  sum // of what others may know of the spec
	spec     *spec.Spec
	findings *diag.List
	refs     []string        // the specs that it names
	words    map[string]bool // of its formula
	used     int             // the last snapshot that had it
}

// checkedSpec is what is known about a spec after all checks.
type checkedSpec struct {
	Findings []*diag.Diagnostic // also in other files on which the spec depends
	Spec     *spec.Spec         // with the facts that follow from its formula, unless there are findings
	Scope    *scope.Scope       // nil of an enum, and of a spec that could not be read
	Operator *model.Operator    // nil if there are findings, and of an enum
	Enum     *model.Enum        // likewise, of an enum
}

// Cache keeps results of snapshots. The zero Cache is empty and ready to use, by several goroutines.
type Cache struct {
	mu       sync.Mutex
	number   int // of the last snapshot
	ground   *driver.Ground
	err      error
	about    sum // what ground was made from
	kernels  sum // and the kernels that were open
	readings map[sum]*reading
	checked  map[sum]*entry
}

// entry is a result that is there, or that a goroutine computes.
type entry struct {
	done  chan struct{} // closed when result is set, or the work was canceled
	exact sum           // of what findings depend on
	*checkedSpec
	used int
}

// kept is for how many snapshots a result stays that none of them has. Typing and taking it back gives the
// same text again.
const kept = 32

// Open returns the snapshot of some texts. It reads them, and checks nothing.
func (c *Cache) Open(t Texts) *Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.readings == nil {
		c.readings, c.checked = map[sum]*reading{}, map[sum]*entry{}
	}
	c.number++
	about := sumOf(t.Root, t.Config, t.Rest)
	var kernels []string
	for _, p := range slices.Sorted(maps.Keys(t.Kernels)) {
		kernels = append(kernels, p, t.Kernels[p])
	}
	if open := sumOf(kernels...); about != c.about || open != c.kernels || c.ground == nil {
		c.ground, c.err = driver.Survey(t.Root, t.Config, t.Kernels)
		c.kernels = open
	}
	if about != c.about { // what the findings of a spec need of kernels is a part of their keys
		c.about = about
		clear(c.readings)
		clear(c.checked)
	}
	s := &Snapshot{Texts: t, Ground: c.ground, cache: c, err: c.err, files: map[string]*file{}, between: &diag.List{}}
	if s.err != nil || s.Ground.Config == nil {
		return s
	}
	read := make([]*reading, len(t.Specs))
	var missing []int
	sums := make([]sum, len(t.Specs))
	for i, in := range t.Specs {
		sums[i] = sumOf(in.Path, in.Text)
		if read[i] = c.readings[sums[i]]; read[i] == nil {
			missing = append(missing, i)
		}
	}
	parallel.Do(len(missing), func(i int) {
		k := missing[i]
		read[k] = readOne(s.Ground, t.Specs[k], sums[k])
	})
	var specs []*spec.Spec
	for i, r := range read {
		c.readings[sums[i]] = r
		r.used = c.number
		s.files[r.in.Path] = &file{reading: r}
		s.paths = append(s.paths, r.in.Path)
		specs = append(specs, r.spec)
	}
	s.named = s.Ground.Between(specs, s.between)
	s.link()
	for _, f := range s.files {
		if e := c.checked[f.key]; e != nil {
			e.used = c.number
		}
	}
	maps.DeleteFunc(c.readings, func(_ sum, r *reading) bool { return r.used < c.number-kept })
	maps.DeleteFunc(c.checked, func(_ sum, e *entry) bool { return e.used < c.number-kept })
	return s
}

// readOne reads a spec. A bug of a reader is a finding, and no crash.
func readOne(g *driver.Ground, in driver.Input, key sum) (r *reading) {
	r = &reading{in: in, sum: key, findings: &diag.List{}, words: map[string]bool{}}
	defer func() {
		if p := recover(); p != nil {
			r.spec = &spec.Spec{Base: strings.TrimSuffix(in.Path, ".toml")}
			failed(in, p, r.findings)
		}
	}()
	r.spec = g.Read(in, r.findings)
	if r.meaning = r.sum; r.findings.Empty() {
		r.meaning = meaning(in)
	}
	r.refs = references(r.spec)
	for _, w := range strings.FieldsFunc(r.spec.Formula.V, func(c rune) bool { return c != '_' && c != '.' && !isLetter(c) && !isDigit(c) }) {
		r.words[w] = true
	}
	return r
}

func isLetter(c rune) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c rune) bool  { return '0' <= c && c <= '9' }

// failed reports that a check of a text panicked.
func failed(in driver.Input, p any, list *diag.List) {
	list.Add(diag.Syntax, source.Span{File: &source.File{Path: in.Path, Text: in.Text}}, "opgen cannot read the file: it has a bug: %v", p)
}

// aside lists the keys of a spec that tell nothing to those that name it.
var aside = []string{"doc", "examples", "since", "category"}

// meaning returns a checksum of what others may know of a spec without findings: of its values, without those
// that stand aside, and without their places.
func meaning(in driver.Input) sum {
	root, err := source.Parse(in.Path, in.Text)
	if err != nil {
		return sumOf(in.Path, in.Text)
	}
	root.Entries = slices.DeleteFunc(root.Entries, func(e *source.Entry) bool { return slices.Contains(aside, e.Key) })
	texts := []string{in.Path, source.Exact(root)}
	var order func(source.Node) // of keys, which is that of slots and fields
	order = func(n source.Node) {
		switch n := n.(type) {
		case *source.Table:
			for _, e := range n.Entries {
				texts = append(texts, e.Key)
				order(e.Value)
			}
		case *source.Array:
			for _, e := range n.Elems {
				order(e)
			}
		}
	}
	order(root)
	return sumOf(texts...)
}

// references lists the specs that a spec names.
func references(s *spec.Spec) []string {
	var out []string
	add := func(name string) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, a := range s.Attrs {
		add(a.Enum.V)
		for _, f := range a.Fields {
			add(f.Enum.V)
		}
	}
	for _, sl := range s.Slots {
		if sl.Init != nil {
			add(sl.Init.Name.V)
		}
	}
	for _, f := range s.Fusions {
		add(f.Other.V)
	}
	for _, name := range expr.Inlined(s.Formula.V) {
		add(name)
	}
	return out
}

// link finds the part of the module on which each spec depends, and the key of its results.
func (s *Snapshot) link() {
	byName := map[string]*file{}
	for _, f := range s.files {
		name := cmp.Or(f.spec.Name.V, f.spec.Base)
		if f.counts = s.named[name] == f.spec; f.counts {
			byName[name] = f
		}
	}
	names := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s.named)) {
		fmt.Fprintf(names, "%s %s\n", name, s.named[name].Kind)
	}
	all := names.Sum(nil)
	parallel.Do(len(s.paths), func(i int) {
		f := s.files[s.paths[i]]
		reached := map[string]bool{}
		var reach func(*file)
		reach = func(f *file) {
			for _, name := range f.refs {
				if reached[name] {
					continue
				}
				reached[name] = true
				if other := byName[name]; other != nil {
					reach(other)
				}
			}
		}
		reach(f)
		key, exact := sha256.New(), sha256.New()
		exact.Write(all)
		add := func(what string, f *file, meaning sum) {
			fmt.Fprintln(key, what, s.Ground.Needs(f.spec))
			key.Write(meaning[:])
			exact.Write(f.sum[:])
		}
		add(fmt.Sprint(f.counts), f, f.sum)
		f.part = []driver.Input{f.in}
		for _, name := range slices.Sorted(maps.Keys(reached)) {
			other := byName[name]
			if other == nil {
				fmt.Fprintln(key, "no", name)
				continue
			}
			add(name, other, other.meaning)
			if other != f {
				f.part = append(f.part, other.in)
			}
		}
		// A formula may have the name of a spec in a way that only its check tells.
		for _, w := range slices.Sorted(maps.Keys(f.words)) {
			if other := byName[w]; other != nil && !reached[w] {
				add("word "+w, other, other.meaning)
			}
		}
		f.key, f.exact = sum(key.Sum(nil)), sum(exact.Sum(nil))
	})
}

// Err returns why the module cannot be checked, such as a go.mod that cannot be read.
func (s *Snapshot) Err() error { return s.err }

// Text returns the text of a spec or of opgen.toml, and whether the module has the file.
func (s *Snapshot) Text(path string) (string, bool) {
	if path == config.Name {
		return s.Config, true
	}
	i, ok := slices.BinarySearchFunc(s.Specs, path, func(in driver.Input, p string) int { return cmp.Compare(in.Path, p) })
	if !ok {
		return "", false
	}
	return s.Specs[i].Text, true
}

// known returns what is known about a spec. It is nil of a file that the snapshot does not have. The error is
// that of ctx.
func (s *Snapshot) known(ctx context.Context, path string) (*checkedSpec, error) {
	f := s.files[path]
	if f == nil {
		return nil, ctx.Err()
	}
	c := s.cache
	for {
		c.mu.Lock()
		e := c.checked[f.key]
		switch {
		case e == nil, e.checkedSpec != nil && len(e.Findings) > 0 && e.exact != f.exact:
			e = &entry{done: make(chan struct{}), exact: f.exact, used: c.number}
			c.checked[f.key] = e
			c.mu.Unlock()
			result := s.check(ctx, f)
			c.mu.Lock()
			if e.checkedSpec = result; result == nil && c.checked[f.key] == e {
				delete(c.checked, f.key)
			}
			close(e.done)
			c.mu.Unlock()
			if result == nil {
				return nil, ctx.Err()
			}
			return result, nil
		case e.checkedSpec != nil:
			c.mu.Unlock()
			return e.checkedSpec, nil
		}
		c.mu.Unlock()
		select {
		case <-e.done: // or its work was canceled, and is done here
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// check checks a spec with those that it depends on. It returns nil if the work is canceled.
func (s *Snapshot) check(ctx context.Context, f *file) (out *checkedSpec) {
	if ctx.Err() != nil {
		return nil
	}
	if !f.counts {
		return &checkedSpec{Findings: f.findings.Sorted(), Spec: f.spec}
	}
	defer func() {
		if p := recover(); p != nil {
			list := &diag.List{}
			failed(f.in, p, list)
			out = &checkedSpec{Findings: list.Sorted(), Spec: f.spec}
		}
	}()
	p := s.Ground.Part(f.spec.Name.V, f.part, s.named, func() bool { return ctx.Err() != nil })
	if p == nil {
		return nil
	}
	list := &diag.List{}
	list.Merge(p.Findings)
	list.Merge(p.Border)
	list.Limit(maxFindings)
	out = &checkedSpec{Findings: list.Sorted(), Spec: f.spec}
	name := f.spec.Name.V
	if out.Scope = p.Scope(name); out.Scope != nil {
		out.Spec = out.Scope.Spec
	}
	if m := p.Module(); m != nil {
		for _, o := range m.Operators {
			if o.Name == name {
				out.Operator = o
			}
		}
		for _, e := range m.Enums {
			if e.Name == name {
				out.Enum = e
			}
		}
	}
	return out
}

// Operators returns the names of operators, optimizers and initializers, in order.
func (s *Snapshot) Operators() (names []string) {
	for name, sp := range s.named {
		if sp.Kind != spec.Enum && sp.Kind != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Operator checks the operator of a name with what it depends on, and returns its model. It returns nil if
// there are findings, or no such operator. Findings in other specs do not matter.
func (s *Snapshot) Operator(name string) *model.Operator {
	sp := s.named[name]
	if sp == nil || len(s.between.Sorted()) > 0 {
		return nil
	}
	for _, path := range s.paths {
		if f := s.files[path]; f.spec == sp {
			if checked, _ := s.known(context.Background(), path); checked != nil {
				return checked.Operator
			}
		}
	}
	return nil
}

// maxFindings is how many findings about a spec, and what it depends on, are listed.
const maxFindings = 200

// Findings returns the findings of one file: a spec, or opgen.toml. The error is that of ctx.
func (s *Snapshot) Findings(ctx context.Context, path string) ([]*diag.Diagnostic, error) {
	if path == config.Name && s.Ground != nil {
		return s.Ground.Findings.Sorted(), nil
	}
	checked, err := s.known(ctx, path)
	if checked == nil {
		return nil, err
	}
	return in(path, checked.Findings, s.between.Sorted()), nil
}

// All returns the findings of all files, also of kernels, by path. The error is that of ctx, or says why the
// module cannot be checked. first names the specs to begin with.
func (s *Snapshot) All(ctx context.Context, first ...string) (map[string][]*diag.Diagnostic, error) {
	if s.err != nil {
		return nil, s.err
	}
	all := &diag.List{}
	lists := [][]*diag.Diagnostic{s.Ground.Findings.Sorted(), s.between.Sorted()}
	order := slices.Clone(s.paths)
	slices.SortStableFunc(order, func(a, b string) int {
		return cmp.Compare(btoi(!slices.Contains(first, a)), btoi(!slices.Contains(first, b)))
	})
	checked := make([]*checkedSpec, len(order))
	parallel.Do(len(order), func(i int) { checked[i], _ = s.known(ctx, order[i]) })
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var packages []string
	var operators []*model.Operator
	for i, p := range order {
		packages = append(packages, goname.Package(s.files[p].spec.Name.V))
		if c := checked[i]; c != nil {
			lists = append(lists, c.Findings)
			if c.Operator != nil {
				operators = append(operators, c.Operator)
			}
		}
	}
	if s.Ground.Config != nil {
		slices.SortFunc(operators, func(a, b *model.Operator) int { return cmp.Compare(a.Name, b.Name) })
		s.Ground.Border(packages, operators, all)
		lists = append(lists, all.Sorted())
	}
	byPath := map[string][]*diag.Diagnostic{}
	for _, d := range slices.Concat(lists...) {
		byPath[fileOf(d)] = append(byPath[fileOf(d)], d)
	}
	for p, list := range byPath {
		byPath[p] = in(p, list)
	}
	return byPath, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// in returns the findings in a file, each once, by position and code. Findings of several parts of a module
// may be about the same text.
func in(file string, lists ...[]*diag.Diagnostic) []*diag.Diagnostic {
	var out []*diag.Diagnostic
	for _, d := range slices.Concat(lists...) {
		if fileOf(d) == file {
			out = append(out, d)
		}
	}
	order := func(a, b *diag.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Span.End, b.Span.End))
	}
	slices.SortStableFunc(out, order)
	return slices.CompactFunc(out, func(a, b *diag.Diagnostic) bool { return order(a, b) == 0 })
}

// fileOf returns the file of a finding. A finding about no file is about opgen.toml.
func fileOf(d *diag.Diagnostic) string {
	if d.Span.File == nil {
		return config.Name
	}
	return d.Span.File.Path
}

func sumOf(texts ...string) sum {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d\n", len(t))
		h.Write([]byte(t))
	}
	return sum(h.Sum(nil))
}
