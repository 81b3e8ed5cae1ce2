package conform_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/conform"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

// What testdata holds. A case that disappears, or that is skipped because its operator no longer does
// what it did, must be reported.
var (
	wantCases = map[string]int{"linear": 10, "conv_2d": 10, "pool_2d": 10, "flat": 9, "element_unary": 42, "element_binary": 27, "element_nary": 22, "full": 12, "polynomial": 5, "trim_sequence": 4,
		"softmax": 15, "dropout": 9, "batch_matmul": 5, "batch_norm": 7, "layer_norm": 7, "rms_norm": 4, "broadcast": 3, "reduce": 12, "reshape": 3,
		"transpose": 3, "reverse": 2, "gather": 8, "gather_nd": 9, "multihead_attention": 4, "quantized_linear": 6, "topk": 3, "embedding": 4, "loss": 6, "optimizer_sgd": 4, "optimizer_adam": 6,
		"bce_with_logits": 6, "clip": 5, "conv_transpose_2d": 4, "cumprod": 10, "cumsum": 8, "fft": 9, "group_norm": 5, "huber": 6, "instance_norm": 2, "kl_div": 3, "log_softmax": 5, "lstm_cell": 3, "pad": 6, "prelu": 3, "repeat": 4, "rope": 5, "scatter": 14,
		"chunk": 5, "embedding_bag": 7, "graph": 5, "lookup": 1, "segment_max": 4, "segment_min": 3, "segment_prod": 4, "segment_sum": 3, "sparse_matvec": 2, "stencil": 2, "upsample": 3, "where": 5, "cached_attention": 1, "cast": 1,
		"categorical_crossentropy": 2, "mean_squared_error": 1, "sparse_categorical_crossentropy": 1, "unique": 1}
	wantScenarios = 137
)

// workers returns a function that makes backends of so many workers.
func workers(n int) func() (engine.Backend, error) {
	return func() (engine.Backend, error) { return cpu.New(cpu.Config{Workers: n}), nil }
}

func newRunner(t *testing.T) *conform.Runner {
	t.Helper()
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		t.Fatal(err)
	}
	r := &conform.Runner{Registry: &registry, Operators: catalogue.Operators(), Backend: workers(1)}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func load(t *testing.T, ops ...string) ([]*conform.Case, []*conform.Scenario) {
	t.Helper()
	cases, scenarios, err := conform.LoadAll(conform.Cases(), ops...)
	if err != nil {
		t.Fatal(err)
	}
	return cases, scenarios
}

// TestCases runs all cases, in the type that they are given in and in float64, by one worker and by
// two. Every single one must pass.
func TestCases(t *testing.T) {
	for name, change := range map[string]func(*conform.Runner){
		"float32":   func(*conform.Runner) {},
		"float64":   func(r *conform.Runner) { r.Double = true },
		"2 workers": func(r *conform.Runner) { r.Backend = workers(2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cases, _ := load(t)
			r := newRunner(t)
			change(r)
			passed := map[string]int{}
			for _, c := range cases {
				res := r.Run(t.Context(), c)
				if res.Status != conform.Passed {
					t.Errorf("%s: status %d: %s", c.Name(), res.Status, res.Reason)
					continue
				}
				passed[c.Op]++
			}
			if !maps.Equal(passed, wantCases) {
				t.Errorf("passed by operator: %v, want %v", passed, wantCases)
			}
		})
	}
}

// TestScenarios runs all scenarios of task signatures.
func TestScenarios(t *testing.T) {
	t.Parallel()
	_, scenarios := load(t)
	if len(scenarios) != wantScenarios {
		t.Errorf("%d scenarios, want %d", len(scenarios), wantScenarios)
	}
	seen := map[string]bool{}
	for _, s := range scenarios {
		if seen[s.ID] {
			t.Errorf("two scenarios are called %s", s.ID)
		}
		seen[s.ID] = true
		if s.Expect == nil {
			t.Errorf("%s expects nothing", s.ID)
			continue
		}
		o, err := s.Run()
		if err != nil {
			t.Error(err)
			continue
		}
		for _, d := range s.Differences(o) {
			t.Errorf("%s: %s", s.ID, d)
		}
	}
}

// TestLoadSome checks that naming operators leaves out the cases of others, and scenarios.
func TestLoadSome(t *testing.T) {
	t.Parallel()
	cases, scenarios := load(t, "flat", "softmax")
	for _, c := range cases {
		if c.Op != "flat" && c.Op != "softmax" {
			t.Errorf("loaded %s", c.Name())
		}
	}
	if want := wantCases["flat"] + wantCases["softmax"]; len(cases) != want || len(scenarios) != 0 {
		t.Errorf("%d cases and %d scenarios, want %d and none", len(cases), len(scenarios), want)
	}
}

// linearCase loads a case of linear, with weights and gradients.
func linearCase(t *testing.T) *conform.Case {
	t.Helper()
	cases, _, err := conform.LoadAll(conform.Cases(), "linear")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(cases, func(c *conform.Case) bool { return strings.HasSuffix(c.Name(), "linear/4d") })
	if i < 0 {
		t.Fatal("want a case linear/4d, got none")
	}
	return cases[i]
}

// replaceTensor changes the elements of a tensor of a case.
func replaceTensor[T float32 | float64](t *testing.T, c *conform.Case, name string, change func([]T)) {
	t.Helper()
	data, err := safetensors.Elements[T](c.Tensors[name])
	if err != nil {
		t.Fatal(err)
	}
	data = slices.Clone(data)
	change(data)
	if c.Tensors[name], err = safetensors.Of(c.Tensors[name].Shape, data); err != nil {
		t.Fatal(err)
	}
}

// TestFails checks that a case whose expectation is wrong fails, and says where.
func TestFails(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name   string
		change func(*testing.T, *conform.Case)
		reason []string
	}{
		{"an output", func(t *testing.T, c *conform.Case) {
			replaceTensor(t, c, "out.output", func(d []float64) { d[2]++ })
		}, []string{"out.output: 1 of", "most at 2"}},
		{"a gradient of an input", func(t *testing.T, c *conform.Case) {
			replaceTensor(t, c, "grad_in.input", func(d []float64) { d[0] *= 1.01 })
		}, []string{"grad_in.input: 1 of", "most at 0"}},
		{"a gradient of a weight", func(t *testing.T, c *conform.Case) {
			replaceTensor(t, c, "grad_weight.bias", func(d []float64) { d[1] = -d[1] })
		}, []string{"grad_weight.bias: 1 of"}},
		{"what goes in", func(t *testing.T, c *conform.Case) {
			replaceTensor(t, c, "in.input", func(d []float32) { d[0]++ })
		}, []string{"out.output", "grad_weight.weight"}},
		{"no tolerance", func(t *testing.T, c *conform.Case) { c.Tol = nil }, []string{"out.output"}},
		{"a shape", func(t *testing.T, c *conform.Case) {
			out := c.Tensors["out.output"]
			out.Shape = append([]int{1}, out.Shape...)
			c.Tensors["out.output"] = out
		}, []string{"out.output: want shape [1 "}},
		{"an output too many", func(t *testing.T, c *conform.Case) {
			c.Tensors["out.other"] = c.Tensors["out.output"]
		}, []string{"out.other: not computed"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			c := linearCase(t)
			x.change(t, c)
			res := newRunner(t).Run(t.Context(), c)
			if res.Status != conform.Failed {
				t.Fatalf("status %d, want %d (%s)", res.Status, conform.Failed, res.Reason)
			}
			for _, part := range x.reason {
				if !strings.Contains(res.Reason, part) {
					t.Errorf("the reason does not say %q: %s", part, res.Reason)
				}
			}
		})
	}
}

// TestSkips checks that what operators cannot do is skipped with its reason, and never passes.
func TestSkips(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name   string
		change func(*conform.Case)
		reason string
	}{
		{"an operator", func(c *conform.Case) { c.Op = "no_operator" }, "no operator no_operator"},
		{"an attribute", func(c *conform.Case) { c.Attrs["stride"] = json.RawMessage("2") }, "stride"},
		{"a weight", func(c *conform.Case) { c.Tensors["weight.scale"] = c.Tensors["weight.bias"] }, "weight.scale"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			c := linearCase(t)
			x.change(c)
			res := newRunner(t).Run(t.Context(), c)
			if res.Status != conform.Skipped || !strings.Contains(res.Reason, x.reason) {
				t.Errorf("status %d (%s), want %d and a word of %s", res.Status, res.Reason, conform.Skipped, x.reason)
			}
		})
	}
}

// TestNoExpectation computes the same answers when the case does not hold them. It does not pass,
// since nothing was compared.
func TestNoExpectation(t *testing.T) {
	t.Parallel()
	c := linearCase(t)
	maps.DeleteFunc(c.Tensors, func(name string, _ safetensors.Tensor) bool {
		return strings.HasPrefix(name, "out.") || strings.HasPrefix(name, "grad_in.") || strings.HasPrefix(name, "grad_weight.")
	})
	res := newRunner(t).Run(t.Context(), c)
	if res.Status != conform.Skipped || res.Reason != "the case holds nothing to compare with" {
		t.Errorf("status %d (%s), want %d", res.Status, res.Reason, conform.Skipped)
	}
	full := linearCase(t)
	for name, got := range res.Computed {
		want, have := full.Tensors[name].Float64s(), got.Float64s()
		for i := range want {
			tol := full.Tol[name]
			if d := want[i] - have[i]; max(d, -d) > tol.Abs+tol.Rel*max(want[i], -want[i]) {
				t.Errorf("%s: element %d: want %g, got %g", name, i, want[i], have[i])
			}
		}
	}
	if want := []string{"grad_in.input", "grad_weight.bias", "grad_weight.weight", "out.output"}; !slices.Equal(slices.Sorted(maps.Keys(res.Computed)), want) {
		t.Errorf("computed %v, want %v", slices.Sorted(maps.Keys(res.Computed)), want)
	}
}

// TestScenarioDiffers checks that a wrong expectation shows.
func TestScenarioDiffers(t *testing.T) {
	t.Parallel()
	_, scenarios := load(t)
	for _, s := range scenarios {
		o, err := s.Run()
		if err != nil {
			t.Fatal(err)
		}
		for name, change := range map[string]func(*conform.Outcome){
			"stage":     func(o *conform.Outcome) { o.Stage = "elsewhere" },
			"result":    func(o *conform.Outcome) { o.Result = "no-such-code" },
			"mention":   func(o *conform.Outcome) { o.Message = "" },
			"equal":     func(o *conform.Outcome) { other := !*o.Equal; o.Equal = &other },
			"partition": func(o *conform.Outcome) { o.Partition = &conform.PartitionJSON{Launch: []int{7, 7, 7, 7, 7}} },
		} {
			switch {
			case name == "mention" && len(s.Expect.Mentions) == 0, name == "equal" && s.Expect.Equal == nil, name == "partition" && s.Expect.Partition == nil:
				continue
			}
			other := *o
			change(&other)
			if len(s.Differences(&other)) == 0 {
				t.Errorf("%s: another %s makes no difference", s.ID, name)
			}
		}
	}
}
