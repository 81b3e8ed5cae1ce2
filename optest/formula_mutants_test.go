package optest

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/choice"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

var (
	formulaMutants = flag.Int("formula-mutants", 100, "how many mutants TestFormulaMutants makes; 0: all")
	formulaSeed    = flag.Uint64("formula-seed", 1, "the seed of the choice of mutants")
	formulaOf      = flag.String("formula-of", "", "the operators whose mutants TestFormulaMutants makes, separated by commas; by default all")
)

// formulaSpec is a spec with a formula: an operator, or an enum that operators share.
type formulaSpec struct {
	name      string
	path      string // of the spec
	text      string // the formula as the spec has it
	lines     []string
	operators []*graph.Operator // those that compute the lines
}

// mutant is a change of the formula of a spec.
type mutant struct {
	spec *formulaSpec
	change
}

// String names a mutant by the spec and the line, with what was and what is now in braces. The name does not
// depend on other lines.
func (m mutant) String() string {
	was, now := m.spec.lines[m.line], m.text
	lo := 0
	for lo < min(len(was), len(now)) && was[lo] == now[lo] {
		lo++
	}
	for lo > 0 && partOfName(was[lo-1]) {
		lo--
	}
	hi := 0
	for hi < min(len(was), len(now))-lo && was[len(was)-1-hi] == now[len(now)-1-hi] {
		hi++
	}
	for hi > 0 && partOfName(was[len(was)-hi]) {
		hi--
	}
	return fmt.Sprintf("%s: %s{%s => %s}%s", m.spec.name, was[:lo], was[lo:len(was)-hi], now[lo:len(now)-hi], was[len(was)-hi:])
}

func partOfName(c byte) bool {
	return c == '_' || c == '.' || c == '\'' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// formula returns the formula of an operator with the change. The lines of an enum stand behind those of the
// operator, with the name of an attribute in front.
func (m mutant) formula(o *graph.Operator) []string {
	var out []string
	for i, line := range o.Formula {
		prefix, ok := strings.CutSuffix(line, m.spec.lines[m.line])
		if m.spec.name == o.Name {
			ok = i == m.line
		} else {
			ok = ok && strings.HasSuffix(prefix, ".")
		}
		switch {
		case !ok:
			out = append(out, line)
		case m.text != "":
			out = append(out, prefix+m.text)
		}
	}
	return out
}

// formulaSpecs reads the specs with formulas.
func formulaSpecs(t *testing.T) (*driver.Project, []*formulaSpec) {
	t.Helper()
	p, err := driver.Load("..")
	if err != nil {
		t.Fatal(err)
	}
	m := p.Module()
	if m == nil {
		t.Fatalf("want specs without findings, got %v", p.Findings.Sorted()[0])
	}
	operators := map[string]*graph.Operator{}
	for _, o := range catalogue.Operators() {
		operators[o.Name] = o
	}
	var out []*formulaSpec
	shared := map[string]*formulaSpec{}
	for _, e := range m.Enums {
		if e.Formula != "" {
			shared[e.Name] = &formulaSpec{e.Name, e.Source, e.Formula, expr.FormulaLines(e.Formula), nil}
			out = append(out, shared[e.Name])
		}
	}
	for _, o := range m.Operators {
		out = append(out, &formulaSpec{o.Name, o.Source, o.Formula, expr.FormulaLines(o.Formula), []*graph.Operator{operators[o.Name]}})
		eachEnum(o.Attrs, func(e *model.Enum) {
			if s := shared[e.Name]; s != nil && len(o.Operator.Formula) > len(expr.FormulaLines(o.Formula)) {
				s.operators = append(s.operators, operators[o.Name])
			}
		})
	}
	return p, out
}

// eachEnum runs f for the enums of attributes and of their fields.
func eachEnum(attrs []*model.Attr, f func(*model.Enum)) {
	for _, a := range attrs {
		if a.Enum != nil {
			f(a.Enum)
		}
		eachEnum(a.Fields, f)
	}
}

// trial is an operator in use: a program, values, and what the kernels compute from them.
type trial struct {
	program *graph.Program
	fed     values
	runs    int
	want    values
}

// trials lists the uses of an operator in double precision. It has the examples on several choices of values,
// and the examples with extents of 1 and 0. Each is made when it is first needed. A trial is nil if its
// values are none for which the formula and the kernel agree, such as NaN.
func trials(k *Kit, o *graph.Operator, reference *task.Registry) []func() (*trial, error) {
	var out []func() (*trial, error)
	for i := range o.Examples {
		samples, _ := k.samplesOf(o, i) // forEachSample reports errors
		var wide []sample
		for _, s := range samples {
			s = s.wide()
			same := func(o sample) bool { return o.all == s.all && slices.Equal(o.types, s.types) }
			if !slices.ContainsFunc(wide, same) {
				wide = append(wide, s)
				out = append(out, newTrials(s, i, reference)...)
			}
		}
	}
	return out
}

func newTrials(s sample, example int, reference *task.Registry) []func() (*trial, error) {
	home := slices.IndexFunc(domains, func(d domain) bool {
		f, err := newFixture(s, d)
		if err != nil {
			return false
		}
		p, err := graph.Whole(f.g, f.results...)
		if err != nil {
			return false
		}
		v, err := s.kit.run(p, f.values, Execution{})
		return err == nil && f.unbounded(v) == 0
	})
	var out []func() (*trial, error)
	add := func(what string, s sample, d domain, runs int, strict bool) {
		out = append(out, sync.OnceValues(func() (*trial, error) {
			t, err := newTrial(s, d, runs)
			if err != nil || t == nil {
				return nil, err
			}
			got, err := run(t.program, t.fed, Execution{tasks: reference, Runs: runs, moves: true})
			at := ""
			if err == nil {
				at = differ(got, t.want)
			}
			switch {
			case err == nil && at == "":
				return t, nil
			case !strict:
				return nil, nil
			case err != nil:
				return nil, err
			}
			return nil, fmt.Errorf("%s, example %d, %s, %s: want a formula that the kernel computes, got a difference: %s",
				s.op.Name, example, dtype.Format(s.types), what, at)
		}))
	}
	d := domains[max(home, 0)]
	with := func(change func(*domain)) domain { d := d; change(&d); return d }
	add("as other tests have it", s, d, 1, true)
	add("ties", s, with(func(d *domain) { d.ties, d.lo = true, 0 }), 1, false)
	add("two runs", s, with(func(d *domain) { d.seed = 1 }), 2, true)
	add("three runs", s, with(func(d *domain) { d.seed = 1 }), 3, true)
	add("NaN", s, with(func(d *domain) { d.nans, d.seed = true, 2 }), 1, false)
	add("edges", s, with(func(d *domain) { d.edges, d.signed, d.seed = true, true, 3 }), 1, false)
	for _, shapes := range slices.Concat(resized(s.shapes, 1), resized(s.shapes, 0)) {
		small := s
		small.shapes = shapes
		add(fmt.Sprint(shapes), small, domains[len(domains)-1], 1, false)
	}
	return out
}

// newTrial applies a sample. It returns nil if a condition of the operator excludes the sample.
func newTrial(s sample, d domain, runs int) (*trial, error) {
	f, err := newFixture(s, d)
	if err != nil || f.impossible() {
		return nil, nil
	}
	t := &trial{fed: f.values, runs: runs}
	if f.differentiable() {
		t.program, _, err = graph.Gradients(f.g, f.seeds, f.wrt, f.results...)
	} else {
		t.program, err = graph.Whole(f.g, f.results...)
	}
	if err != nil {
		return nil, err
	}
	if t.want, err = s.kit.run(t.program, t.fed, Execution{Runs: runs, moves: true}); err != nil {
		return nil, nil
	}
	return t, nil
}

// differ returns a tensor and an element that differ, or "" if all are the same up to rounding.
func differ(got, want values) string {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		largest := 0.0
		for _, w := range want[name] {
			if !math.IsNaN(w) && !math.IsInf(w, 0) {
				largest = max(largest, math.Abs(w))
			}
		}
		for i, w := range want[name] {
			g := got[name][i]
			if g == w || math.IsNaN(g) && math.IsNaN(w) || math.Abs(g-w) <= 1e-11*largest+1e-13 {
				continue
			}
			return fmt.Sprintf("%s, element %d: got %.12g, want %.12g", name, i, g, w)
		}
	}
	return ""
}

// formulaJudge says what becomes of mutants.
type formulaJudge struct {
	kit     *Kit
	project *driver.Project
	trials  map[*graph.Operator][]func() (*trial, error)
}

// class says what becomes of a mutant.
type class string

// The classes of mutants, in the order in which they are tried.
const (
	byParsing class = "is refused by parsing"
	byChecks  class = "is refused by checks"
	byProgram class = "fails at an example"
	byValues  class = "differs"
	survives  class = "survives"
)

var classes = []class{byParsing, byChecks, byProgram, byValues, survives}

// judge returns the class of a mutant.
func (j *formulaJudge) judge(m mutant) (c class, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	lines := slices.Clone(m.spec.lines)
	lines[m.line] = m.text
	text := strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n")
	if _, errs := expr.ParseFormula(text); len(errs) > 0 {
		return byParsing, nil
	}
	if !j.checked(m.spec, text) {
		return byChecks, nil
	}
	for _, o := range m.spec.operators {
		r, err := replaced(j.kit, o, m.formula(o))
		if err != nil {
			return "", err
		}
		for _, f := range j.trials[o] {
			t, err := f()
			if err != nil {
				return "", err
			}
			if t == nil {
				continue
			}
			got, err := run(t.program, t.fed, Execution{tasks: r, Runs: t.runs, moves: true})
			if err != nil {
				return byProgram, nil
			}
			if differ(got, t.want) != "" {
				return byValues, nil
			}
		}
	}
	return survives, nil
}

// common matches specs of enums and initializers, to which others refer.
var common = regexp.MustCompile(`(?m)^kind *= *"(enum|initializer)"`)

// checked reports whether the checks of specs find nothing in a spec with another formula.
func (j *formulaJudge) checked(s *formulaSpec, text string) bool {
	var in []driver.Input
	own := j.project.Inputs[slices.IndexFunc(j.project.Inputs, func(i driver.Input) bool { return i.Path == s.path })]
	referring := own.Text // the texts of the spec and of operators that its formula applies
	for _, i := range j.project.Inputs {
		if applies(s.text, i.Path) {
			referring += i.Text
		}
	}
	for _, i := range j.project.Inputs {
		name := strings.TrimSuffix(path.Base(i.Path), ".toml")
		switch {
		case i.Path == s.path:
			i.Text = strings.Replace(i.Text, s.text, text, 1)
		case !common.MatchString(i.Text) && !strings.Contains(referring, strconv.Quote(name)) && !applies(s.text, i.Path):
			continue // nothing refers to it
		}
		in = append(in, i)
	}
	var list diag.List
	driver.Read(in, &list)
	return list.Empty()
}

// applies reports whether a formula applies the operator of a spec.
func applies(formula, spec string) bool {
	return strings.Contains(formula, strings.TrimSuffix(path.Base(spec), ".toml")+"(")
}

// replaced returns a registry in which an operator computes a formula. The others have their kernels.
func replaced(k *Kit, o *graph.Operator, lines []string) (*task.Registry, error) {
	var r task.Registry
	for _, other := range k.operators {
		if other == o {
			continue
		}
		for _, s := range other.Signatures {
			t := k.tasks.Task(s.ID)
			if err := r.RegisterTask(t.ID, t.Name, t.Signature, t.Variants...); err != nil {
				return nil, err
			}
		}
	}
	changed := o.Operator
	changed.Formula = lines
	changed.Signatures = nil
	for _, s := range o.Signatures {
		s := *s
		s.Operator = &changed
		changed.Signatures = append(changed.Signatures, &s)
	}
	return &r, formula.RegisterReference(&r, op.CPU, &changed)
}

// TestFormulaMutants changes formulas of the catalogue in small ways, one at a time. Each change must be
// refused, or make a result differ from that of the kernel, unless docs/mutants.md says why it changes
// nothing.
func TestFormulaMutants(t *testing.T) {
	p, specs := formulaSpecs(t)
	k := newKit(t)
	reference := k.reference(t)
	j := &formulaJudge{k, p, map[*graph.Operator][]func() (*trial, error){}}
	for _, o := range catalogue.Operators() {
		j.trials[o] = trials(k, o, reference)
	}
	var all []mutant
	for _, s := range specs {
		if !j.checked(s, s.text) {
			t.Fatalf("%s: want checks without findings, got some", s.name)
		}
		for _, c := range changes(s.lines) {
			all = append(all, mutant{s, c})
		}
	}
	harmless := harmlessMutants(t)
	for _, m := range all {
		if _, ok := harmless[m.String()]; ok {
			harmless[m.String()] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(harmless)) {
		if !harmless[name] {
			t.Errorf("docs/mutants.md names %s: want a mutant, got none of this name", name)
		}
	}
	if *formulaOf != "" {
		of := strings.Split(*formulaOf, ",")
		all = slices.DeleteFunc(all, func(m mutant) bool { return !slices.Contains(of, m.spec.name) })
	}
	mutants := choice.InTurn(*formulaSeed, *formulaMutants, all, func(m mutant) string { return m.kind })
	found := make([]class, len(mutants))
	errs := make([]error, len(mutants))
	var wg sync.WaitGroup
	work := make(chan int)
	for range 2 {
		wg.Go(func() {
			for i := range work {
				found[i], errs[i] = j.judge(mutants[i])
			}
		})
	}
	for i := range mutants {
		work <- i
	}
	close(work)
	wg.Wait()
	var survivors strings.Builder
	for i, m := range mutants {
		_, named := harmless[m.String()]
		switch {
		case errs[i] != nil:
			t.Errorf("%v: %v", m, errs[i])
		case found[i] == survives && !named:
			t.Errorf("no check and no example tells this formula from the right one:\n%v", m)
		case found[i] == survives:
			fmt.Fprintf(&survivors, "  %v\n", m)
		case named:
			t.Logf("docs/mutants.md names %v, which %s", m, found[i])
		}
	}
	t.Logf("%d of %d mutants\n%s\nsurvivors, as named in docs/mutants.md:\n%s", len(mutants), len(all), summary(mutants, found), &survivors)
}

// summary counts the mutants of each kind and class, as a table.
func summary(mutants []mutant, found []class) string {
	count := map[string]map[class]int{}
	for i, m := range mutants {
		for _, k := range []string{m.kind, "~all"} { // ~ is behind all letters
			if count[k] == nil {
				count[k] = map[class]int{}
			}
			count[k][found[i]]++
		}
	}
	var b strings.Builder
	b.WriteString("| kind | mutants |")
	for _, c := range classes {
		fmt.Fprintf(&b, " %s |", c)
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", 1+len(classes)) + "\n")
	for _, k := range slices.Sorted(maps.Keys(count)) {
		total, row := 0, ""
		for _, c := range classes {
			total += count[k][c]
			row += fmt.Sprintf(" %d |", count[k][c])
		}
		fmt.Fprintf(&b, "| %s | %d |%s\n", strings.TrimPrefix(k, "~"), total, row)
	}
	return b.String()
}

// harmlessMutants reads the names of mutants that change nothing from docs/mutants.md: lines that begin with
// four spaces.
func harmlessMutants(t *testing.T) map[string]bool {
	t.Helper()
	data, err := os.ReadFile("../docs/mutants.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	_, section, _ := strings.Cut(string(data), "\n## Mutants of formulas\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		if name, ok := strings.CutPrefix(line, "    "); ok {
			out[strings.TrimSpace(name)] = false
		}
	}
	if len(out) == 0 {
		t.Error("docs/mutants.md: want names of mutants of formulas, got none")
	}
	return out
}
