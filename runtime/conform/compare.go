package conform

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/safetensors"
)

// tolOf begins the name of a tensor of the tolerances of the elements of another, such as tol.out.output.
const tolOf = "tol."

// compare checks what was computed against the case's expected tensors.
func (r *Runner) compare(c *Case, computed map[string]safetensors.Tensor) error {
	var problems []string
	compared := 0
	for _, name := range slices.Sorted(maps.Keys(c.Tensors)) {
		kind, _, _ := strings.Cut(name, ".")
		if kind != "out" && kind != "grad_in" && kind != "grad_weight" {
			continue
		}
		if c.Has("given_mask") && name == "out.mask" {
			continue // was fed
		}
		compared++
		got, ok := computed[name]
		if !ok {
			problems = append(problems, name+": not computed")
			continue
		}
		if msg := r.difference(c, name, got); msg != "" {
			problems = append(problems, name+": "+msg)
		}
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	if compared == 0 {
		return unsupportedf("the case holds nothing to compare with")
	}
	return nil
}

func (r *Runner) difference(c *Case, name string, got safetensors.Tensor) string {
	ref := c.Tensors[name]
	if !slices.Equal(ref.Shape, got.Shape) {
		return fmt.Sprintf("want shape %v, got %v", ref.Shape, got.Shape)
	}
	want, have := ref.Float64s(), got.Float64s()
	tol := c.Tol[name]
	var each []float64 // of each element: what is added to its tolerance
	if t, ok := c.Tensors[tolOf+name]; ok {
		if !slices.Equal(t.Shape, ref.Shape) {
			return fmt.Sprintf("want tolerances of shape %v, got %v", ref.Shape, t.Shape)
		}
		each = t.Float64s()
	}
	if r.Double && (strings.HasPrefix(c.Source, "torch") || c.Source == "numpy") {
		tol.Rel, tol.Abs = tol.Rel/1000, tol.Abs/1000
	}
	bad, worst, at := 0, 0.0, 0
	for i := range want {
		w, h := want[i], have[i]
		d := math.Abs(w - h)
		if each != nil && math.IsInf(each[i], 1) {
			continue
		}
		tol := tol
		if each != nil {
			tol.Abs += each[i]
		}
		switch {
		case w == h, math.IsNaN(w) && math.IsNaN(h):
			continue
		case !math.IsNaN(d) && !math.IsInf(d, 0) && d <= tol.Abs+tol.Rel*math.Abs(w):
			continue
		}
		bad++
		if math.IsNaN(d) {
			d = math.Inf(1)
		}
		if bad == 1 || d > worst {
			worst, at = d, i
		}
	}
	if bad == 0 {
		return ""
	}
	if each != nil {
		tol.Abs += each[at]
	}
	return fmt.Sprintf("%d of %d elements differ, most at %d: want %g, got %g (tolerance %g + %g*|want|)", bad, len(want), at, want[at], have[at], tol.Abs, tol.Rel)
}
