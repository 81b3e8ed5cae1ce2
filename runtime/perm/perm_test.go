package perm

import (
	"math"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for i, name := range Names() {
		p, err := Parse(name)
		if err != nil || p != Perm(i) || p.String() != name {
			t.Errorf("Parse(%q) = %v, %v", name, p, err)
		}
		var back Perm
		if text, _ := p.MarshalText(); back.UnmarshalText(text) != nil || back != p {
			t.Errorf("%v became %v", p, back)
		}
	}
	if _, err := Parse("write-only"); err == nil || err.Error() != `unknown permission "write-only"` {
		t.Errorf("write-only: %v", err)
	}
	for _, r := range []Redop{NoRedop, Sum, Prod, Min, Max} {
		var back Redop = Max
		if back.UnmarshalText([]byte(r.String())) != nil || back != r {
			t.Errorf("%v became %v", r, back)
		}
	}
	if _, err := ParseRedop(""); err == nil || err.Error() != `unknown reduction operator ""` {
		t.Errorf("no reduction operator: %v", err)
	}
	if Perm(9).String() != "perm.Perm(9)" {
		t.Errorf("%v", Perm(9))
	}
}

func TestReadsAndWrites(t *testing.T) {
	tests := map[Perm][2]bool{None: {}, Read: {true, false}, Write: {false, true}, ReadWrite: {true, true}, Reduce: {false, true}, Scratch: {}}
	for p, want := range tests {
		if p.Reads() != want[0] || p.Writes() != want[1] {
			t.Errorf("%v: reads %v, writes %v", p, p.Reads(), p.Writes())
		}
	}
}

// TestConflict lists the pairs that need no order; all others do.
func TestConflict(t *testing.T) {
	all := []Perm{None, Read, Write, ReadWrite, Scratch, Reduce}
	for _, p := range all {
		for _, q := range all {
			free := p == None || q == None || p == Read && q == Read
			if got := Conflict(p, q); got == free {
				t.Errorf("%v and %v: conflict %v", p, q, got)
			}
		}
	}
}

// TestOwn reads reductions of a module's own.
func TestOwn(t *testing.T) {
	for text, want := range map[string]float64{"example.com/nn/folds.Farther, 0": 0, "folds.F, -2.5": -2.5, "example.com/a.b/folds.F2, inf": math.Inf(1), "folds.F, -inf": math.Inf(-1)} {
		r, err := ParseRedop(text)
		pkg, function, identity, ok := r.Own()
		if err != nil || !ok || pkg+"."+function != text[:strings.Index(text, ",")] || identity != want || r.Bitwise() {
			t.Errorf("%s: %v, %q, %q, %v, %v", text, err, pkg, function, identity, ok)
		}
		var back Redop
		if err := back.UnmarshalText([]byte(r.String())); err != nil || back != r {
			t.Errorf("%v became %v, %v", r, back, err)
		}
	}
	for _, text := range []string{"folds.F", "folds.F,0", "folds.F,  0", "folds.F, ", "folds.f, 0", "folds., 0", ".F, 0", "F, 0", "folds.F, nan", "folds.F, x", "folds.F, 0, 1",
		"a b.F, 0", "folds.F(), 0", "example.com/folds, 0", "example.com/folds.F/x, 0", "folds.F-G, 0", "folds\x00.F, 0", "folds\".F, 0"} {
		if r, err := ParseRedop(text); err == nil {
			t.Errorf("%q became %v", text, r)
		}
	}
}
