package choice

import (
	"fmt"
	"slices"
	"testing"
)

// named has a kind, which is the first letter of its name.
type named string

func (n named) String() string { return string(n) }
func (n named) kind() string   { return string(n[:1]) }

// TestInTurn chooses of each kind in turn, the same ones for the same seed and others for another one.
// Without some elements, the others stay in their order.
func TestInTurn(t *testing.T) {
	t.Parallel()
	kinds := ""
	for _, x := range InTurn(1, 6, []named{"a1", "a2", "a3", "a4", "b1", "c1", "c2"}, named.kind) {
		kinds += x.kind()
	}
	if kinds != "abcaca" {
		t.Errorf("want the kinds abcaca, got %s", kinds)
	}
	var all []named
	for i := range 300 {
		all = append(all, named(fmt.Sprint(string(rune('a'+i%3)), i)))
	}
	one, other := InTurn(1, 0, all, named.kind), InTurn(2, 0, all, named.kind)
	if len(one) != len(all) || slices.Equal(one, other) || slices.Equal(one, all) {
		t.Errorf("want all %d in two orders, got %d, and equal orders %t", len(all), len(one), slices.Equal(one, other))
	}
	slices.Reverse(all)
	if again := InTurn(1, 0, all, named.kind); !slices.Equal(one, again) {
		t.Error("the choice depends on the order of the list")
	}
	gone := func(x named) bool { return x == one[0] || x == one[10] || x == one[200] }
	want := slices.DeleteFunc(slices.Clone(one), gone)
	got := InTurn(1, 0, slices.DeleteFunc(slices.Clone(all), gone), named.kind)
	for _, kind := range []string{"a", "b", "c"} {
		of := func(list []named) []named {
			return slices.DeleteFunc(slices.Clone(list), func(x named) bool { return x.kind() != kind })
		}
		if !slices.Equal(of(got), of(want)) {
			t.Errorf("kind %s: three elements less change the order of others", kind)
		}
	}
	if few := InTurn(1, 9, all, named.kind); len(few) != 9 {
		t.Errorf("want 9, got %d", len(few))
	}
}
