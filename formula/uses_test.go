package formula

import (
	"strconv"
	"testing"

	"github.com/opgen/opgen/runtime/task"
)

// TestUses binds more uses than the cache holds. It keeps those that are bound again and again, separates
// tasks, and stays small.
func TestUses(t *testing.T) {
	var cache uses
	a, b := &task.Signature{Task: "a"}, &task.Signature{Task: "b"}
	often := &use{}
	cache.put(useKey{a, "often"}, often)
	for i := range 5 * mostUses {
		cache.put(useKey{b, strconv.Itoa(i)}, &use{})
		if got := cache.get(useKey{a, "often"}); got != often {
			t.Fatalf("after %d others: want the use that is bound often, got %v", i+1, got)
		}
		if n := len(cache.recent) + len(cache.older); n > 2*mostUses {
			t.Fatalf("after %d others: want at most %d uses, got %d", i+1, 2*mostUses, n)
		}
	}
	if got := cache.get(useKey{b, "often"}); got != nil {
		t.Errorf("want no use of another task, got %v", got)
	}
	if got := cache.get(useKey{b, strconv.Itoa(5*mostUses - 1)}); got == nil {
		t.Error("want the last use, got none")
	}
	if got := cache.get(useKey{b, "0"}); got != nil {
		t.Errorf("want the first use to be forgotten, got %v", got)
	}
}
