package conform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
)

// Scenario is a task-signature scenario: declaring a signature, registering it, adding constraints,
// launching, and the partition that the launch chooses.
type Scenario struct {
	ID        string              `json:"id"`
	Task      string              `json:"task"`
	Signature *signature          `json:"signature"`
	Calls     [][]json.RawMessage `json:"calls"`
	LateCalls [][]json.RawMessage `json:"late_calls"`
	Compare   *signature          `json:"compare"`
	Launch    *launchSpec         `json:"launch"`
	Expect    *Expectation        `json:"expect"`
}

type signature struct {
	Inputs      json.RawMessage `json:"inputs"`
	Outputs     json.RawMessage `json:"outputs"`
	Scalars     json.RawMessage `json:"scalars"`
	Redops      json.RawMessage `json:"redops"`
	Constraints json.RawMessage `json:"constraints"`
}

// constraint has the members kind, args and hint, and the lists of its kind.
type constraint map[string]json.RawMessage

type launchSpec struct {
	Inputs         []storeSpec  `json:"inputs"`
	Outputs        []storeSpec  `json:"outputs"`
	Redops         []storeSpec  `json:"redops"`
	Scalars        int          `json:"scalars"`
	AddConstraints []constraint `json:"add_constraints"`
	Kind           string       `json:"kind"`
	Domain         []int        `json:"domain"`
	Machine        *struct {
		Kind      string          `json:"kind"`
		Procs     *int            `json:"procs"`
		Threshold json.RawMessage `json:"threshold"`
	} `json:"machine"`
}

type storeSpec struct {
	ID      string            `json:"id"`
	Shape   *[]int            `json:"shape"`
	Rank    int               `json:"rank"`
	Unbound bool              `json:"unbound"`
	DType   string            `json:"dtype"`
	Values  []json.RawMessage `json:"values"`
	Held    *struct {
		Tile   []int `json:"tile"`
		Pieces int   `json:"pieces"`
	} `json:"held"`
}

// Expectation is the expected outcome of a scenario.
type Expectation struct {
	Stage     string          `json:"stage"`
	Result    string          `json:"result"`
	Mentions  []string        `json:"mentions"`
	Equal     *bool           `json:"equal"`
	Partition json.RawMessage `json:"partition"`
}

// Outcome is the outcome of a scenario.
type Outcome struct {
	ID        string         `json:"id"`
	Stage     string         `json:"stage"`
	Result    string         `json:"result"`
	Message   string         `json:"message"`
	Equal     *bool          `json:"equal,omitempty"`
	Partition *PartitionJSON `json:"partition,omitempty"`
}

// PartitionJSON is a partition in the form of the scenarios.
type PartitionJSON struct {
	Launch []int                     `json:"launch"` // null is a single task
	Stores map[string]map[string]any `json:"stores"`
}

// loadScenarios reads a file of scenarios. ok is false if the file is JSON of another kind.
func loadScenarios(files fs.FS, path string) (scenarios []*Scenario, ok bool, err error) {
	data, err := readFile(files, path)
	if err != nil {
		return nil, false, err
	}
	var f struct {
		Format    int             `json:"format"`
		Scenarios json.RawMessage `json:"scenarios"`
	}
	if json.Unmarshal(data, &f) != nil || f.Scenarios == nil {
		return nil, false, nil
	}
	if f.Format != 1 {
		return nil, true, fmt.Errorf("%s: want scenarios of format 1, got %d", path, f.Format)
	}
	if err := json.Unmarshal(f.Scenarios, &scenarios); err != nil {
		return nil, true, fmt.Errorf("%s: %w", path, err)
	}
	return scenarios, true, nil
}

// Run returns the outcome of the scenario. It does not use the expectation. The error is for a malformed
// scenario.
func (s *Scenario) Run() (*Outcome, error) {
	o := &Outcome{ID: s.ID, Stage: "declare", Result: "ok"}
	fail := func(err error) (*Outcome, error) {
		var te *op.Error
		if !errors.As(err, &te) || te.Code == "" {
			return nil, fmt.Errorf("scenario %s: %w", s.ID, err)
		}
		o.Result, o.Message = string(te.Code), err.Error()
		return o, nil
	}
	d, err := s.declare(s.Signature, s.Calls)
	if err != nil {
		return fail(err)
	}
	if s.Compare != nil {
		e, err := s.declare(s.Compare, nil)
		if err != nil {
			return fail(err)
		}
		equal := d.Equal(e)
		o.Equal = &equal
		return o, nil
	}
	o.Stage = "register"
	registered := d.Clone()
	if err := registered.Validate(); err != nil {
		return fail(err)
	}
	for _, c := range s.LateCalls {
		if err := call(d, c); err != nil {
			return nil, fmt.Errorf("scenario %s: %w", s.ID, err)
		}
	}
	if s.Launch == nil {
		return o, nil
	}
	l, machine, err := s.launch(registered)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.ID, err)
	}
	o.Stage = "add_constraint"
	for _, c := range s.Launch.AddConstraints {
		tc, err := c.constraint()
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", s.ID, err)
		}
		if err := l.AddConstraint(tc); err != nil {
			return fail(err)
		}
	}
	o.Stage = "launch"
	p, err := l.Solve(machine)
	if err != nil {
		return fail(err)
	}
	o.Partition = partitionJSON(p)
	return o, nil
}

func (s *Scenario) declare(sig *signature, calls [][]json.RawMessage) (*partition.Declaration, error) {
	d := &partition.Declaration{Task: s.Task}
	if sig != nil {
		for _, f := range []struct {
			name string
			raw  json.RawMessage
		}{{"inputs", sig.Inputs}, {"outputs", sig.Outputs}, {"scalars", sig.Scalars}, {"redops", sig.Redops}, {"constraints", sig.Constraints}} {
			if f.raw != nil {
				if err := set(d, f.name, f.raw); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, c := range calls {
		if err := call(d, c); err != nil {
			return nil, err
		}
		if d.Err() != nil {
			break
		}
	}
	return d, d.Err()
}

func call(d *partition.Declaration, c []json.RawMessage) error {
	var name string
	if len(c) != 2 || json.Unmarshal(c[0], &name) != nil {
		return fmt.Errorf("want a call [name, value], got %s", c)
	}
	return set(d, name, c[1])
}

// set makes one setter call. The declaration keeps errors of the value; the error is for a malformed call.
func set(d *partition.Declaration, name string, raw json.RawMessage) error {
	if name == "constraints" {
		if string(raw) == "null" {
			d.UnsetConstraints()
			return nil
		}
		var list []constraint
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		var cs []partition.Constraint
		for _, c := range list {
			tc, err := c.constraint()
			if err != nil {
				return err
			}
			cs = append(cs, tc)
		}
		d.SetConstraints(cs...)
		return nil
	}
	if _, ok := partition.ParseGroup(name); !ok {
		return fmt.Errorf("there is no group %q", name)
	}
	var bounds []any
	if json.Unmarshal(raw, &bounds) != nil {
		var one any
		if err := json.Unmarshal(raw, &one); err != nil {
			return err
		}
		bounds = []any{one}
	}
	var ns []int
	for _, b := range bounds {
		switch b := b.(type) {
		case float64:
			ns = append(ns, int(b))
		case string:
			if b != "unbounded" {
				return fmt.Errorf("want a count or \"unbounded\", got %q", b)
			}
			ns = append(ns, partition.Unlimited)
		default:
			return fmt.Errorf("want a count, got %v", b)
		}
	}
	switch len(ns) {
	case 1:
		d.SetCount(name, partition.Exactly(ns[0]))
	case 2:
		d.SetCount(name, partition.Between(ns[0], ns[1]))
	default:
		return fmt.Errorf("want one or two bounds, got %d", len(ns))
	}
	return nil
}

func (c constraint) constraint() (out partition.Constraint, err error) {
	var kind, hint string
	var args []string
	read := func(name string, into any) {
		if raw := c[name]; raw != nil && err == nil {
			err = json.Unmarshal(raw, into)
		}
	}
	read("kind", &kind)
	read("args", &args)
	read("hint", &hint)
	var ok bool
	if out.Kind, ok = partition.ParseKind(kind); !ok {
		return out, fmt.Errorf("there is no constraint %q", kind)
	}
	for _, a := range args {
		out.Terms = append(out.Terms, partition.ParseTerm(a))
	}
	for _, f := range out.Kind.Form().Fields {
		read(f.Name, f.Of(&out))
	}
	if hint != "" {
		if out.Hint, ok = partition.ParseHint(hint); !ok {
			return out, fmt.Errorf("there is no hint %q", hint)
		}
	}
	return out, err
}

func (s *Scenario) launch(d *partition.Declaration) (*partition.Launch, partition.Machine, error) {
	m := partition.Machine{Kind: "cpu", Procs: 1, Threshold: 1}
	if spec := s.Launch.Machine; spec != nil {
		if spec.Kind != "" {
			m.Kind = spec.Kind
		}
		if spec.Procs != nil {
			m.Procs = *spec.Procs
		}
		switch t := string(spec.Threshold); t {
		case "":
		case `"default"`:
			m.Threshold = partition.DefaultThreshold(m.Kind)
		default:
			n, err := strconv.Atoi(t)
			if err != nil {
				return nil, m, fmt.Errorf("threshold: %w", err)
			}
			m.Threshold = n
		}
	}
	l := partition.New(d)
	l.Manual, l.Domain = s.Launch.Kind == "manual", s.Launch.Domain
	stores := map[string]*partition.Store{}
	for _, g := range []struct {
		name  string
		specs []storeSpec
	}{{"inputs", s.Launch.Inputs}, {"outputs", s.Launch.Outputs}, {"redops", s.Launch.Redops}} {
		for _, spec := range g.specs {
			st, err := spec.store(stores)
			if err != nil {
				return nil, m, err
			}
			if err := l.Add(g.name, st); err != nil {
				return nil, m, err
			}
		}
	}
	return l, m, l.AddScalars("scalars", s.Launch.Scalars)
}

func (s *storeSpec) store(known map[string]*partition.Store) (*partition.Store, error) {
	if st, ok := known[s.ID]; ok {
		return st, nil
	}
	st := &partition.Store{Name: s.ID, Unbound: s.Unbound, Rank: s.Rank}
	if s.Shape != nil {
		st.Shape = *s.Shape
	}
	var err error
	if st.Element, err = element(s.DType); err != nil {
		return nil, err
	}
	if s.Held != nil {
		st.Held = &partition.Held{Tile: s.Held.Tile, Pieces: s.Held.Pieces}
	}
	for _, raw := range s.Values {
		var b partition.Box
		if st.Element.Rects > 0 {
			var r [2][]int
			if err := json.Unmarshal(raw, &r); err != nil {
				return nil, fmt.Errorf("store %s: %w", s.ID, err)
			}
			b = partition.Box{Lo: r[0], Hi: r[1]}
		} else {
			if err := json.Unmarshal(raw, &b.Lo); err != nil {
				return nil, fmt.Errorf("store %s: %w", s.ID, err)
			}
			for _, i := range b.Lo {
				b.Hi = append(b.Hi, i+1)
			}
		}
		st.Values = append(st.Values, b)
	}
	known[s.ID] = st
	return st, nil
}

func element(dtype string) (partition.Element, error) {
	for prefix, make := range map[string]func(int) partition.Element{"point": partition.PointElement, "rect": partition.RectElement} {
		if digits, ok := strings.CutPrefix(dtype, prefix); ok {
			rank, err := strconv.Atoi(digits)
			return make(rank), err
		}
	}
	bits := strings.TrimLeftFunc(dtype, unicode.IsLetter)
	n, err := strconv.Atoi(bits)
	switch {
	case dtype == "bool":
		n = 8
	case err != nil:
		return partition.Element{}, fmt.Errorf("unknown dtype %q", dtype)
	}
	return partition.Element{Name: dtype, Bytes: n / 8}, nil
}

func partitionJSON(p *partition.Strategy) *PartitionJSON {
	out := &PartitionJSON{Launch: p.Domain, Stores: map[string]map[string]any{}}
	for _, s := range p.Stores {
		m := map[string]any{}
		switch {
		case s.Store.Unbound:
			m["unbound"] = true
		case s.Whole():
			m["whole"] = true
		case s.Points != nil:
			m["points"] = s.Points
		default:
			if s.Tile != nil {
				m["tile"] = s.Tile
			}
			tiles := []any{}
			for i := range s.Parts() {
				if b := s.Part(0, i); b.Empty() {
					tiles = append(tiles, nil)
				} else {
					tiles = append(tiles, [2][]int{b.Lo, b.Hi})
				}
			}
			m["tiles"] = tiles
		}
		out.Stores[s.Store.Name] = m
	}
	return out
}

// Differences lists the differences between an outcome and the expectation.
func (s *Scenario) Differences(o *Outcome) []string {
	e := s.Expect
	if e == nil {
		return []string{"the scenario expects nothing"}
	}
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if o.Stage != e.Stage || o.Result != e.Result {
		add("want %s at %s, got %s at %s (%s)", e.Result, e.Stage, o.Result, o.Stage, o.Message)
	}
	for _, m := range e.Mentions {
		if !mentions(o.Message, m) {
			add("the message does not mention %q: %s", m, o.Message)
		}
	}
	if e.Equal != nil && (o.Equal == nil || *o.Equal != *e.Equal) {
		add("equal: want %v", *e.Equal)
	}
	if e.Partition != nil {
		out = append(out, partitionDifferences(e.Partition, o.Partition)...)
	}
	return out
}

// mentions reports whether text contains what as a whole word or number, ignoring case.
func mentions(text, what string) bool {
	text, what = strings.ToLower(text), strings.ToLower(what)
	word := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for at := 0; ; {
		i := strings.Index(text[at:], what)
		if i < 0 {
			return false
		}
		i += at
		first, _ := utf8.DecodeRuneInString(what)
		last, _ := utf8.DecodeLastRuneInString(what)
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(what):])
		if !(word(first) && i > 0 && word(before)) && !(word(last) && i+len(what) < len(text) && word(after)) {
			return true
		}
		at = i + 1
	}
}

// partitionDifferences compares the members that are expected.
func partitionDifferences(want json.RawMessage, got *PartitionJSON) []string {
	var w map[string]json.RawMessage
	if err := json.Unmarshal(want, &w); err != nil {
		return []string{err.Error()}
	}
	if got == nil {
		return []string{"no partition"}
	}
	var out []string
	if l, ok := w["launch"]; ok && !sameJSON(l, got.Launch) {
		out = append(out, fmt.Sprintf("launch: want %s, got %v", l, got.Launch))
	}
	var stores map[string]map[string]json.RawMessage
	if raw, ok := w["stores"]; ok {
		if err := json.Unmarshal(raw, &stores); err != nil {
			return append(out, err.Error())
		}
	}
	var ids []string
	for id := range stores {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		for member, value := range stores[id] {
			if have, ok := got.Stores[id][member]; !ok || !sameJSON(value, have) {
				out = append(out, fmt.Sprintf("store %s, %s: want %s, got %v", id, member, value, got.Stores[id]))
			}
		}
	}
	return out
}

func sameJSON(want json.RawMessage, got any) bool {
	data, err := json.Marshal(got)
	if err != nil {
		return false
	}
	var a, b any
	da, db := json.NewDecoder(bytes.NewReader(want)), json.NewDecoder(bytes.NewReader(data))
	return da.Decode(&a) == nil && db.Decode(&b) == nil && reflect.DeepEqual(a, b)
}
