package explain

import (
	"fmt"
	"strings"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/internal/example"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/task"
)

// tiles says for each task how it is cut into tiles that may be tasks of a plan: at the first example where
// it has any, or why it has none at the first one.
func tiles(o *model.Operator) map[*model.Task]string {
	out := map[*model.Task]string{}
	var runs [][]*formula.Run // by example and task
	if o.CanDerive() && o.Derived {
		runs = example.Runs(o)
	}
	for i, t := range o.Tasks {
		loops := false
		for _, s := range t.Steps {
			if loops = loops || s.Loops || s.OnCPUs; s.Tiles != nil {
				out[t] = "as the spec states"
			}
		}
		if out[t] == "" && !loops {
			out[t] = "none, since a kernel by hand computes it on some device, and the spec states none"
		}
		for k, at := range runs {
			if !loops || out[t] != "" && !strings.HasPrefix(out[t], "none") || at == nil || at[i] == nil {
				continue
			}
			cut, err := at[i].Tiles()
			switch {
			case err == nil:
				out[t] = tilesText(o.Operator, cut) + ", at the example " + useText(&o.Operator.Examples[k])
			case out[t] == "":
				out[t] = fmt.Sprintf("none, at the example %s: %v", useText(&o.Operator.Examples[k]), err)
			}
		}
	}
	return out
}

// indices names the dimensions of a grid.
var indices = [...]string{"i", "j", "k"}

// tilesText says what an index of a grid touches of each slot.
func tilesText(o *task.Operator, t *task.Tiles) string {
	var over, slots []string
	for _, n := range t.Rows {
		over = append(over, fmt.Sprint(n))
	}
	touched := func(prefix string, footprints []region.Footprint) {
		for slot, f := range footprints {
			if f == nil {
				continue
			}
			var axes []string
			for _, s := range f {
				axes = append(axes, spanText(s))
			}
			slots = append(slots, prefix+o.Slots[slot].Name+"["+strings.Join(axes, ", ")+"]")
		}
	}
	touched("", t.Footprints)
	touched("grad.", t.Grads)
	return fmt.Sprintf("of %s rows [%s], each of which touches %s", strings.Join(over, " x "), strings.Join(indices[:len(t.Rows)], ", "), strings.Join(slots, ", "))
}

// spanText writes a span as the only index that it touches, or as the first one and the one behind the last.
func spanText(s region.Span) string {
	if s.Of == 0 {
		return ":"
	}
	lo := endText(s.Scale, s.Shift, s.Of)
	if s.Size == 1 && s.Grow == 0 {
		return lo
	}
	return lo + ":" + endText(s.Scale+s.Grow, s.Shift+s.Size, s.Of)
}

// endText writes an end of a span, such as 2*i - 1.
func endText(scale, shift, of int) string {
	text := indices[of-1]
	switch scale {
	case 0:
		return fmt.Sprint(shift)
	case 1:
	case -1:
		text = "-" + text
	default:
		text = fmt.Sprintf("%d*%s", scale, text)
	}
	switch {
	case shift > 0:
		return fmt.Sprintf("%s + %d", text, shift)
	case shift < 0:
		return fmt.Sprintf("%s - %d", text, -shift)
	}
	return text
}
