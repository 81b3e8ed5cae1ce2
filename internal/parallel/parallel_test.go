package parallel_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opgen/opgen/internal/parallel"
)

func TestDo(t *testing.T) {
	var sum atomic.Int64
	parallel.Do(100, func(i int) { sum.Add(int64(i)) })
	if sum.Load() != 4950 {
		t.Errorf("sum of 0 to 99: got %d", sum.Load())
	}
}

func TestPanic(t *testing.T) {
	defer func() {
		if p, _ := recover().(string); !strings.HasPrefix(p, "seven") || !strings.Contains(p, "TestPanic") {
			t.Errorf("want the panic of a call with its stack, got %q", p)
		}
	}()
	parallel.Do(10, func(i int) {
		if i == 7 {
			panic("seven")
		}
	})
	t.Error("want a panic")
}
