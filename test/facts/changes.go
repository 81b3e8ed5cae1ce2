package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/kernelfile"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// change is a change of one fact.
type change struct {
	operator, kind, name string
	apply                func(*spec.Spec) // to a spec that has no facts but those that it states
	// less says that the spec then claims less than what is right, which is not wrong.
	less bool
	// alone says that only the spec says it: which element type a slot has. Formulas compute with any type,
	// and tests draw values of the type that is stated.
	alone bool
}

func (c change) String() string { return c.name }

// changer collects the changes of a spec, of which all facts are known.
type changer struct {
	spec   *spec.Spec
	stated int  // how many of the spec's slots its file has; others follow
	byHand bool // whether the operator has a kernel by hand
	all    []change
}

// changes lists the changes of all facts.
func (j *judge) changes() []change {
	var out []change
	stated := map[string]int{} // slots of each operator that its file has, before those that follow
	for _, s := range j.read() {
		stated[s.Name.V] = len(s.Slots)
	}
	for _, s := range j.specs {
		if s.Formula.V == "" || s.Kind == spec.Enum {
			continue
		}
		c := &changer{spec: s, stated: stated[s.Name.V], byHand: slices.Contains(j.kernels.Names, kernelfile.Name(s.Name.V))}
		c.shards()
		c.saved()
		c.inPlace()
		c.ranges()
		c.elementwise()
		c.costs()
		c.windows()
		c.slots()
		c.grads()
		out = append(out, c.all...)
	}
	return out
}

// add adds a change, which a phrase names.
func (c *changer) add(kind string, apply func(*spec.Spec), format string, args ...any) {
	c.all = append(c.all, change{c.spec.Name.V, kind, c.spec.Name.V + ": " + fmt.Sprintf(format, args...), apply, false, false})
}

// weaken adds a change after which the spec claims less.
func (c *changer) weaken(kind string, apply func(*spec.Spec), format string, args ...any) {
	c.add(kind, apply, format, args...)
	c.all[len(c.all)-1].less = true
}

// retype adds a change of a slot's element type.
func (c *changer) retype(slot int, now string) {
	s := c.spec.Slots[slot]
	c.add("slots", func(s *spec.Spec) { s.Slots[slot].Type = text(s.Slots[slot].Key, now) }, "%s is of type %s, rather than %s", s.Name, now, s.Type.V)
	c.all[len(c.all)-1].alone = true
}

// text returns a string as if it stood at a place.
func text(at source.Span, s string) spec.Str {
	return spec.Str{V: s, Node: &source.Scalar{Span: at, Value: s}}
}

// names lists the dimensions and attributes that stand for extents of inputs and weights.
func (c *changer) names() []string {
	var out []string
	for _, s := range c.spec.Slots {
		for _, n := range s.Shape {
			name := scope.DimName(n)
			if name != "" && !slices.Contains(out, name) && (s.Role.V == "input" || s.Role.V == "weight") {
				out = append(out, name)
			}
		}
	}
	return out
}

// shards gives each dimension another effect, and drops conditions.
func (c *changer) shards() {
	for _, name := range c.names() {
		i := slices.IndexFunc(c.spec.Shards, func(s *spec.Shard) bool { return s.Dim.V == name })
		set := func(partial bool) func(*spec.Spec) {
			return func(s *spec.Spec) {
				s.Shards = slices.DeleteFunc(s.Shards, func(x *spec.Shard) bool { return x.Dim.V == name })
				s.Shards = append(s.Shards, &spec.Shard{Dim: text(s.Where(), name), Partial: partial})
			}
		}
		word := map[bool]string{false: "split", true: "reduce"}
		if i < 0 {
			c.add("sharding", set(false), "split has %s", name)
			c.add("sharding", set(true), "reduce has %s", name)
			continue
		}
		was := c.spec.Shards[i]
		c.add("sharding", set(!was.Partial), "%s has %s, rather than %s", word[!was.Partial], name, word[was.Partial])
		if was.When.Set() {
			c.add("sharding", set(was.Partial), "%s has %s always, rather than when %s", word[was.Partial], name, was.When.V)
			c.weaken("sharding", func(s *spec.Spec) {
				s.Shards = slices.DeleteFunc(s.Shards, func(x *spec.Shard) bool { return x.Dim.V == name })
			}, "%s does not have %s", word[was.Partial], name)
		}
	}
}

// saved saves what is not saved, and the other way.
func (c *changer) saved() {
	if !slices.ContainsFunc(c.spec.Tasks, func(t *spec.Task) bool { return t.Name == "backward" }) {
		return
	}
	for i, s := range c.spec.Slots {
		if s.Role.V != "input" && s.Role.V != "weight" && s.Role.V != "output" {
			continue
		}
		was := rules.Saved(s)
		for _, now := range []bool{false, true} {
			if now == (was != "") && (was == "" || was == "true") {
				continue
			}
			add := c.add
			if now && was != "" && !c.byHand { // what is saved under other conditions, too, is not read
				add = c.weaken
			}
			add("saved", func(s *spec.Spec) {
				s.Slots[i].Saved = &source.Scalar{Span: s.Slots[i].Key, Value: now}
			}, "%s.saved is %v, rather than %q", s.Name, now, was)
		}
	}
}

// inPlace exchanges the tensors that share memory, adds some, and makes views of others.
func (c *changer) inPlace() {
	for _, backward := range []bool{false, true} {
		pairs, result, of, word := c.spec.InPlace, "output", "input", "inplace"
		if backward {
			pairs, result, of, word = c.spec.InPlaceGrads, "input", "output", "inplace.backward"
		}
		if backward && !slices.ContainsFunc(c.spec.Tasks, func(t *spec.Task) bool { return t.Name == "backward" }) {
			continue
		}
		set := func(name, of string, view bool) func(*spec.Spec) {
			return func(s *spec.Spec) {
				at := s.Where()
				p := &spec.InPlace{Slot: name, Key: at, Of: text(at, of), View: spec.Bool{V: view, Span: at}}
				s.InPlace, s.InPlaceGrads = slices.Clone(c.spec.InPlace), slices.Clone(c.spec.InPlaceGrads)
				s.InPlaceKey = spec.Bool{V: true, Span: at}
				list := &s.InPlace
				if backward {
					list = &s.InPlaceGrads
				}
				*list = append(slices.DeleteFunc(*list, func(x *spec.InPlace) bool { return x.Slot == name }), p)
			}
		}
		for _, s := range c.spec.Slots {
			for _, x := range c.spec.Slots {
				if s.Role.V != result || x.Role.V != of || s.Type.V != x.Type.V || (s.Variadic != nil) != (x.Variadic != nil) {
					continue
				}
				i := slices.IndexFunc(pairs, func(p *spec.InPlace) bool { return p.Slot == s.Name && p.Of.V == x.Name })
				switch {
				case i < 0:
					c.add("in place", set(s.Name, x.Name, false), "%s has %s where %s is", word, s.Name, x.Name)
				case !pairs[i].View.V:
					c.add("in place", set(s.Name, x.Name, true), "%s has %s as a view of %s", word, s.Name, x.Name)
				}
			}
		}
	}
}

// ranges changes what tasks and steps run over.
func (c *changer) ranges() {
	for i, t := range c.spec.Tasks {
		change := func(name string, over spec.Str, set func(*spec.Spec, spec.Str)) {
			add := c.add
			if !c.byHand { // loops made of a formula take shares, whatever a task runs over
				add = c.weaken
			}
			for _, now := range otherRanges(over.V) {
				add("over", func(s *spec.Spec) { set(s, text(s.Tasks[i].Key, now)) }, "%s runs over %s, rather than %s", name, now, over.V)
			}
		}
		for k, st := range t.Steps {
			if len(st.Inner) == 0 {
				change(t.Name+"."+st.Name, st.Over, func(s *spec.Spec, x spec.Str) { s.Tasks[i].Steps[k].Over = x })
			}
		}
		if t.Over.Set() && len(t.Inner) == 0 {
			change(t.Name, t.Over, func(s *spec.Spec, x spec.Str) { s.Tasks[i].Over = x })
		}
	}
}

// otherRanges returns ranges of another length: without a factor, or twice as long.
func otherRanges(over string) []string {
	out := []string{"2 * (" + over + ")"}
	if factors := strings.Split(over, " * "); len(factors) > 1 {
		out = append(out, strings.Join(factors[1:], " * "), strings.Join(factors[:len(factors)-1], " * "))
	}
	return out
}

// elementwise says the opposite of tasks and steps.
func (c *changer) elementwise() {
	for i, t := range c.spec.Tasks {
		flip := func(name string, was bool, set func(*spec.Spec, spec.Bool)) {
			add := c.add
			if was || !c.byHand { // loops of a formula say by themselves whether they go element by element
				add = c.weaken
			}
			add("elementwise", func(s *spec.Spec) { set(s, spec.Bool{V: !was, Span: s.Tasks[i].Key}) }, "%s.elementwise is %v", name, !was)
		}
		for k, st := range t.Steps {
			flip(t.Name+"."+st.Name, st.Elementwise.V, func(s *spec.Spec, b spec.Bool) { s.Tasks[i].Steps[k].Elementwise = b })
		}
		if len(t.Steps) == 0 && (t.Name == "forward" || t.Name == "backward" || t.Name == "update") {
			flip(t.Name, t.Elementwise.V, func(s *spec.Spec, b spec.Bool) { s.Tasks[i].Elementwise = b })
		}
	}
}

// costs multiplies costs by 10, and drops dimensions.
func (c *changer) costs() {
	for _, was := range c.spec.Costs {
		set := func(flops string) func(*spec.Spec) {
			return func(s *spec.Spec) {
				s.Costs = slices.DeleteFunc(s.Costs, func(x *spec.Cost) bool { return x.Task == was.Task })
				s.Costs = append(s.Costs, &spec.Cost{Task: was.Task, Key: s.Where(), Flops: text(s.Where(), flops), Bytes: was.Bytes})
			}
		}
		if was.Flops.V == "0" {
			continue
		}
		c.add("cost", set("10 * ("+was.Flops.V+")"), "%s takes 10 times %s", was.Task, was.Flops.V)
		factors := strings.Split(was.Flops.V, " * ")
		if strings.ContainsAny(was.Flops.V, "+?") {
			continue
		}
		for i, f := range factors {
			if strings.Trim(f, "0123456789") != "" && len(factors) > 1 {
				rest := slices.Concat(factors[:i], factors[i+1:])
				c.add("cost", set(strings.Join(rest, " * ")), "%s takes %s, without %s", was.Task, strings.Join(rest, " * "), f)
			}
		}
	}
}

// windows shifts, scales and resizes what tiles touch.
func (c *changer) windows() {
	for i, t := range c.spec.Tiles {
		for k, w := range t.Windows {
			for _, x := range []struct {
				word string
				of   func(*spec.Window) *spec.Str
				none string
			}{
				{"scale", func(w *spec.Window) *spec.Str { return &w.Scale }, "1"},
				{"shift", func(w *spec.Window) *spec.Str { return &w.Shift }, "0"},
				{"size", func(w *spec.Window) *spec.Str { return &w.Size }, "1"},
			} {
				was := x.of(w).V
				if was == "" {
					was = x.none
				}
				for _, by := range []string{"+ 1", "- 1"} {
					c.add("boxes", func(s *spec.Spec) { *x.of(s.Tiles[i].Windows[k]) = text(s.Tiles[i].Key, "("+was+") "+by) },
						"the %s of tiles.%s.%s.%s is %s %s", x.word, t.Task, w.Slot, w.Axis, was, by)
				}
			}
		}
		over := map[string]bool{}
		for _, d := range rules.Domain(c.spec.Tasks[slices.IndexFunc(c.spec.Tasks, func(x *spec.Task) bool { return x.Name == t.Task })], t) {
			over[d.V] = true
		}
		for _, s := range c.spec.Slots {
			for _, n := range s.Shape {
				axis := rules.Element(n)
				if s.Role.V == "input" && over[axis] {
					c.add("boxes", func(s2 *spec.Spec) {
						at := s2.Tiles[i].Key
						s2.Tiles[i].Windows = append(s2.Tiles[i].Windows, &spec.Window{Slot: s.Name, SlotKey: at, Axis: axis, Key: at,
							Of: text(at, axis), Shift: text(at, "1")})
					}, "tiles.%s has %s of %s one further", t.Task, axis, s.Name)
				}
			}
		}
	}
}

// slots exchanges element types, and dimensions of shapes.
func (c *changer) slots() {
	for i, s := range c.spec.Slots[:c.stated] {
		if s.Role.V == "scratch" {
			continue
		}
		for _, v := range c.spec.Types {
			if v.Name != s.Type.V {
				c.retype(i, v.Name)
			}
		}
		if s.Type.V == "T" {
			c.retype(i, "i32")
		}
		for k := 1; k < len(s.Shape); k++ {
			c.add("slots", func(s *spec.Spec) {
				shape := slices.Clone(s.Slots[i].Shape)
				shape[k-1], shape[k] = shape[k], shape[k-1]
				s.Slots[i].Shape = shape
			}, "dimensions %d and %d of %s are exchanged", k-1, k, s.Name)
		}
	}
}

// grads scatters gradients that are given once, and the other way.
func (c *changer) grads() {
	for i, t := range c.spec.Tasks {
		if t.Name != "backward" {
			continue
		}
		for _, s := range c.spec.Slots {
			if !c.spec.Trainable(s) {
				continue
			}
			now := "scatter"
			if rules.Scatters(t, s.Name) {
				now = "once"
			}
			c.add("grads", func(x *spec.Spec) {
				at := x.Tasks[i].Key
				x.Tasks[i].Grads = slices.DeleteFunc(x.Tasks[i].Grads, func(g *spec.Access) bool { return g.Slot == s.Name })
				x.Tasks[i].Grads = append(x.Tasks[i].Grads, &spec.Access{Slot: s.Name, Key: at, Value: text(at, now)})
			}, "the gradient of %s is given %s", s.Name, now)
		}
	}
}
