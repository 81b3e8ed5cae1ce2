package perm

import "testing"

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
		if text, _ := r.MarshalText(); back.UnmarshalText(text) != nil || back != r {
			t.Errorf("%v became %v", r, back)
		}
	}
	if _, err := ParseRedop(""); err == nil || err.Error() != `unknown reduction operator ""` {
		t.Errorf("no reduction operator: %v", err)
	}
	if Perm(9).String() != "perm.Perm(9)" || Redop(9).String() != "perm.Redop(9)" {
		t.Errorf("%v, %v", Perm(9), Redop(9))
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
