package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/examples/internal/opticks"
	"github.com/opgen/opgen/examples/internal/rotary"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/safetensors"
)

// defaults returns the options of a run without flags, but for those given.
func defaults() options {
	return options{heads: 4, engine: "cpu", workers: 1, slots: 3, pages: 9, size: 8}
}

func shippedWeights(t testing.TB) *safetensors.File {
	t.Helper()
	f, err := safetensors.Decode(shipped)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// some returns requests of various lengths, so that they leave and enter at different steps.
func some(t testing.TB, n int) []*request {
	t.Helper()
	c, err := opticks.Load()
	if err != nil {
		t.Fatal(err)
	}
	var out []*request
	for i := range n {
		at := 1000 * (i + 1)
		out = append(out, &request{number: i, prompt: c.Train[at : at+2+3*(i%4)], length: 5 + 7*(i%3)})
	}
	return out
}

// texts decodes requests and returns what followed each of them.
func texts(t testing.TB, o options, n int) [][]int32 {
	t.Helper()
	out := make([][]int32, n)
	err := decode(t.Context(), o, shippedWeights(t), some(t, n), io.Discard, func(r *request) {
		if out[r.number] != nil {
			t.Errorf("request %d ended twice", r.number)
		}
		out[r.number] = r.out
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWhole compares what the plan of a step draws with the network for whole texts, which reads all of a
// text again for each character.
func TestWhole(t *testing.T) {
	const n = 5
	got, requests := texts(t, defaults(), n), some(t, n)
	sizes, err := sizesOf(shippedWeights(t), 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		total := len(r.prompt) + r.length
		g := graph.New(1)
		text := g.Input("text", dtype.I32, 1, total)
		logits := sizes.Texts(g, text)
		err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
			p, err := s.Inference(t.Context(), g, logits)
			if err != nil {
				return err
			}
			if err := load(s, shippedWeights(t)); err != nil {
				return err
			}
			row := make([]int32, total)
			copy(row, r.prompt)
			for at := len(r.prompt); at < total; at++ {
				if err := p.Run(t.Context(), opgen.With(text, row)); err != nil {
					return err
				}
				all, err := opgen.Fetch[float32](p, logits)
				if err != nil {
					return err
				}
				of := all[(at-1)*sizes.Alphabet:][:sizes.Alphabet]
				row[at] = int32(slices.Index(of, slices.Max(of)))
			}
			if !slices.Equal(row[len(r.prompt):], got[r.number]) {
				t.Errorf("request %d: the plan of a step draws %v, the network for whole texts %v", r.number, got[r.number], row[len(r.prompt):])
			}
			return nil
		}, opgen.Workers(1))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAlike draws the same, whatever is drawn beside a text: with other slots, pages, workers and tiles.
func TestAlike(t *testing.T) {
	const n = 7
	base := defaults()
	base.temperature = 0.8
	want := texts(t, base, n)
	for _, change := range []func(*options){
		func(o *options) { o.slots = 1 },
		func(o *options) { o.slots = 9 },
		func(o *options) { o.size, o.pages = 3, 10 },
		func(o *options) { o.size, o.pages = 40, 1 },
		func(o *options) { o.workers = 2 },
		func(o *options) { o.tiles, o.workers = true, 2 },
	} {
		o := base
		change(&o)
		if got := texts(t, o, n); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%+v: want %v, got %v", o, want, got)
		}
	}
	base.temperature = 0
	if fmt.Sprint(texts(t, base, n)) == fmt.Sprint(want) {
		t.Error("the temperature changes nothing")
	}
}

// TestSchedule checks rules of random schedules: no page has two requests, nothing is written outside of the
// pages of a slot, requests enter in their order, and all leave with what was drawn for them.
func TestSchedule(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		slots, pages, size := 1+rng.IntN(5), 1+rng.IntN(12), 1+rng.IntN(6)
		var requests []*request
		for i := range rng.IntN(12) {
			all := 2 + rng.IntN(pages*size) // the prompt and what follows
			prompt := 1 + rng.IntN(all-1)
			requests = append(requests, &request{number: i, prompt: make([]int32, prompt), length: all - prompt})
		}
		s, err := newSchedule(slots, pages, size, slices.Clone(requests))
		if err != nil {
			t.Fatal(err)
		}
		entered, left, kept := -1, 0, map[[2]int64]int64{} // what lies where in a page: request and position
		for {
			in, ok := s.next()
			if !ok {
				break
			}
			owner := map[int]int{}
			drawn := make([]int64, slots)
			for b, slot := range s.slots {
				if slot.request == nil {
					continue
				}
				entered = max(entered, slot.number)
				for _, p := range slot.pages {
					if other, taken := owner[p]; taken {
						t.Fatalf("page %d is that of slots %d and %d", p, other, b)
					}
					owner[p] = b
				}
				page := in.table[b*s.columns+int(in.position[b])/size]
				if in.writer[page] != int64(b) || in.place[page] != in.position[b]%int64(size) {
					t.Fatalf("slot %d at %d: writer %d, place %d", b, in.position[b], in.writer[page], in.place[page])
				}
				kept[[2]int64{page, in.place[page]}] = int64(slot.number)<<32 | in.position[b]
				for at := range in.position[b] + 1 { // all that it reads is its own
					page := in.table[b*s.columns+int(at)/size]
					if kept[[2]int64{page, at % int64(size)}] != int64(slot.number)<<32|at {
						t.Fatalf("slot %d reads at %d what is not its own", b, at)
					}
				}
				drawn[b] = int64(slot.number*1000 + slot.position)
			}
			if want := entered + 1 + len(s.waiting); want != len(requests) {
				t.Fatalf("request %d has entered, and %d of %d wait", entered, len(s.waiting), len(requests))
			}
			for p, at := range in.place {
				if _, taken := owner[p]; at >= 0 && !taken {
					t.Fatalf("page %d is written and has no request", p)
				}
			}
			for _, r := range s.took(drawn) {
				left++
				for i, token := range r.out {
					if want := int32(r.number*1000 + len(r.prompt) - 1 + i); token != want || len(r.out) != r.length {
						t.Fatalf("request %d: token %d of %d is %d, want %d", r.number, i, len(r.out), token, want)
					}
				}
			}
		}
		if left != len(requests) || len(s.free) != pages {
			t.Fatalf("%d of %d requests have left, %d of %d pages are free", left, len(requests), len(s.free), pages)
		}
	}
}

// TestRun prints each text with what follows, and a last line with counts.
func TestRun(t *testing.T) {
	o := defaults()
	o.prompts, o.length, o.temperature = []string{"The Rays of ", "Colours "}, 9, 0
	var out bytes.Buffer
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The Rays of |", "Colours |", "tokens=18 steps=20 occupied="} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q, got %s", want, &out)
		}
	}
}

// TestErrors names what does not fit.
func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*options)
		want   string
	}{
		"unknown character": {func(o *options) { o.prompts = []string{"漢"} }, `prompt "漢": want characters that the text for training has, got '漢'`},
		"too long":          {func(o *options) { o.length = 100 }, "request 0: want at most the 72 tokens that 9 pages hold, got 111"},
		"heads":             {func(o *options) { o.heads = 3 }, "want -heads that divide the width 64 and the 32 features of keys, got 3"},
		"one head":          {func(o *options) { o.heads = 1 }, "want -heads that divide the width 64 and the 32 features of keys, got 1"},
		"no file":           {func(o *options) { o.load = "nowhere" }, "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			o := defaults()
			o.prompts, o.length = []string{"The Rays of "}, 5
			c.change(&o)
			if err := run(t.Context(), o, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
		})
	}
	for want, s := range map[string]rotary.Sizes{
		"want sizes of at least 1, got {Alphabet:0 Width:8 Heads:2 Groups:1 Layers:1}": {Width: 8, Heads: 2, Groups: 1, Layers: 1},
		"want a width that 4 heads divide into pairs of features, got 12":              {Alphabet: 3, Width: 12, Heads: 4, Groups: 1, Layers: 1},
		"want heads that 3 heads of keys divide, got 4":                                {Alphabet: 3, Width: 16, Heads: 4, Groups: 3, Layers: 1},
	} {
		if err := s.Check(); err == nil || err.Error() != want {
			t.Errorf("%+v: want %s, got %v", s, want, err)
		}
	}
}

// BenchmarkStep runs a step with all slots occupied.
func BenchmarkStep(b *testing.B) {
	for _, slots := range []int{1, 4, 16} {
		b.Run(fmt.Sprint(slots, " slots"), func(b *testing.B) {
			o := defaults()
			o.slots, o.size, o.pages = slots, 16, 8*slots
			requests := some(b, slots)
			for _, r := range requests {
				r.length = 100
			}
			schedule, err := newSchedule(slots, o.pages, o.size, requests)
			if err != nil {
				b.Fatal(err)
			}
			in, _ := schedule.next()
			for i := range in.position {
				in.position[i] = 90
			}
			sizes, err := sizesOf(shippedWeights(b), o.heads)
			if err != nil {
				b.Fatal(err)
			}
			n := newNetwork(sizes, slots, schedule.columns, o.pages, o.size)
			err = opgen.Do(catalogue.Register, func(s *opgen.Session) error {
				p, err := s.Inference(b.Context(), n.graph, n.drawn)
				if err != nil {
					return err
				}
				if err := load(s, shippedWeights(b)); err != nil {
					return err
				}
				cold := make([]float32, slots)
				for b.Loop() {
					if _, err := n.run(b.Context(), p, in, cold); err != nil {
						return err
					}
				}
				return nil
			}, opgen.Workers(1), opgen.Fuse())
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
