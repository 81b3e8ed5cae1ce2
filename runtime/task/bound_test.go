package task_test

import (
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/runtime/task"
)

func TestBound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, tt := range []struct {
		bound    task.Bound
		text     string
		possible bool
		values   []int // of -1, 0, 1, 2, 3 and 7, those that are allowed
	}{
		{task.Bound{Below: 3}, "an index from 0 to 2", true, []int{0, 1, 2}},
		{task.Bound{Below: 3, Except: 7, HasExcept: true}, "an index from 0 to 2, or 7", true, []int{0, 1, 2, 7}},
		{task.Bound{Below: 1, Except: -1, HasExcept: true}, "an index from 0 to 0, or -1", true, []int{-1, 0}},
		{task.Bound{Except: -1, HasExcept: true}, "an index from 0 to -1, or -1", true, []int{-1}},
		{task.Bound{Below: 0}, "an index from 0 to -1", false, nil},
		{task.Bound{Below: -2}, "an index from 0 to -3", false, nil},
	} {
		want := map[int]bool{}
		for _, v := range tt.values {
			want[v] = true
		}
		for _, v := range []int{-1, 0, 1, 2, 3, 7} {
			if got := tt.bound.Holds(v); got != want[v] {
				t.Errorf("%v: Holds(%d) = %v", tt.bound, v, got)
			}
		}
		if got := tt.bound.String(); got != tt.text || tt.bound.Possible() != tt.possible {
			t.Errorf("got %q, %v; want %q, %v", got, tt.bound.Possible(), tt.text, tt.possible)
		}
		drawn := map[int]bool{}
		for range 200 {
			v := tt.bound.Draw(r.IntN)
			drawn[v] = true
			if tt.possible && !want[v] {
				t.Fatalf("%v: drawn %d", tt.bound, v)
			}
		}
		if tt.possible && len(drawn) != len(want) {
			t.Errorf("%v: drawn %v, want %v", tt.bound, drawn, want)
		}
	}
}
