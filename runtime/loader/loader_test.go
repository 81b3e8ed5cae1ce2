package loader_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opgen/opgen/runtime/loader"
)

// numbers is a function that reads batches: a batch is the numbers of its samples.
func numbers(_ context.Context, samples []int) ([]int, error) { return slices.Clone(samples), nil }

// all returns the batches from a step on.
func all(t *testing.T, c loader.Config, step int) []loader.Batch[[]int] {
	t.Helper()
	l, err := loader.New(c, numbers)
	if err != nil {
		t.Fatal(err)
	}
	var out []loader.Batch[[]int]
	for b, err := range l.From(t.Context(), step) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	if want := max(l.Steps()-max(step, 0), 0); len(out) != want {
		t.Errorf("%+v from step %d: got %d batches, want %d", c, step, len(out), want)
	}
	return out
}

// TestOrder checks, for several sizes, that each epoch has each sample once, in orders that differ, and that
// from any step on the batches are those of the whole training.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []loader.Config{
		{Samples: 7, Batch: 3, Epochs: 3, Seed: 1},
		{Samples: 8, Batch: 4, Epochs: 3, Seed: 2, Ahead: 1},
		{Samples: 5, Batch: 9, Epochs: 3, Seed: 3, Ahead: 5},
		{Samples: 9, Batch: 2, Epochs: 3, Seed: 4, Ahead: 100},
	} {
		whole := all(t, c, 0)
		seen := map[int][]int{}
		for i, b := range whole {
			if b.Step != i || b.Epoch*len(whole)/c.Epochs+b.InEpoch != i || !slices.Equal(b.Data, b.Samples) {
				t.Errorf("%+v: batch %d is %+v", c, i, b)
			}
			seen[b.Epoch] = append(seen[b.Epoch], b.Samples...)
		}
		if slices.Equal(seen[0], seen[1]) && slices.Equal(seen[1], seen[2]) {
			t.Errorf("%+v: all epochs have the order %v", c, seen[0])
		}
		for epoch, samples := range seen {
			slices.Sort(samples)
			if want := c.Samples; len(slices.Compact(samples)) != want || samples[0] != 0 || samples[want-1] != want-1 {
				t.Errorf("%+v: epoch %d has the samples %v", c, epoch, samples)
			}
		}
		for step := range len(whole) + 2 {
			rest := all(t, c, step)
			for i, b := range rest {
				if !slices.Equal(b.Samples, whole[step+i].Samples) || b.Step != step+i {
					t.Errorf("%+v: from step %d on, got %+v, want %+v", c, step, b, whole[step+i])
				}
			}
		}
	}
	var got []int
	for _, b := range all(t, loader.Config{Samples: 5, Batch: 2, Epochs: 2, InOrder: true, DropLast: true}, 0) {
		got = append(got, b.Samples...)
	}
	if want := []int{0, 1, 2, 3, 0, 1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("in order and without the last batch, got %v, want %v", got, want)
	}
}

// TestAhead reads batches that take a second each. With three of them ahead, all are there after the time of
// one for four.
func TestAhead(t *testing.T) {
	t.Parallel()
	for ahead, want := range map[int]time.Duration{0: 8 * time.Second, 1: 4 * time.Second, 3: 2 * time.Second, 7: time.Second, 50: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			l, err := loader.New(loader.Config{Samples: 8, Batch: 1, Epochs: 1, Ahead: ahead}, func(_ context.Context, samples []int) (int, error) {
				time.Sleep(time.Second)
				return samples[0], nil
			})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			for b, err := range l.From(t.Context(), 0) {
				if err != nil || b.Data != b.Samples[0] {
					t.Errorf("got %+v, %v", b, err)
				}
			}
			if got := time.Since(start); got != want {
				t.Errorf("%d ahead take %v, want %v", ahead, got, want)
			}
		})
	}
}

// TestStop checks that nothing is read any more after the first error, after the caller leaves the loop, and
// after the context ends.
func TestStop(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, why := range []string{"error", "leave", "cancel"} {
		synctest.Test(t, func(t *testing.T) {
			var reading atomic.Int32
			l, err := loader.New(loader.Config{Samples: 100, Batch: 1, Epochs: 1, Ahead: 2, InOrder: true}, func(ctx context.Context, samples []int) (int, error) {
				reading.Add(1)
				defer reading.Add(-1)
				if why == "error" && samples[0] == 4 {
					return 0, broken
				}
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
				return samples[0], ctx.Err()
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var last error
			got := 0
			for _, err := range l.From(ctx, 0) {
				if last = err; err != nil {
					continue // the loop ends by itself
				}
				if got++; got == 4 && why == "leave" {
					break
				}
				if got == 4 && why == "cancel" {
					cancel()
				}
			}
			synctest.Wait()
			if got != 4 || reading.Load() != 0 {
				t.Errorf("%s: got %d batches, and %d are being read", why, got, reading.Load())
			}
			switch {
			case why == "error" && (!errors.Is(last, broken) || !strings.Contains(last.Error(), "step 4")),
				why == "leave" && last != nil, why == "cancel" && !errors.Is(last, context.Canceled):
				t.Errorf("%s: got the error %v", why, last)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]loader.Config{
		"want samples, got 0":                    {Batch: 1},
		"want batches of 1 to 4 samples, got 0":  {Samples: 4},
		"want batches of 1 to 4 samples, got 5":  {Samples: 4, Batch: 5, DropLast: true},
		"at least 0 epochs and batches ahead":    {Samples: 4, Batch: 1, Epochs: -1},
		"batches ahead, got 0 and -1":            {Samples: 4, Batch: 1, Ahead: -1},
		"want a function that reads samples, go": {Samples: 4, Batch: 1},
	} {
		read := numbers
		if strings.Contains(want, "function") {
			read = nil
		}
		if _, err := loader.New(c, read); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %s", c, err, want)
		}
	}
}
