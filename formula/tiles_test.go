package formula_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// wholeTasks is how many tasks of the catalogue have tiles at none of their examples. It may only fall.
const wholeTasks = 101

// wholeGradients is how many tasks of the catalogue have no tiles at any example, nor for one of their
// gradients.
const wholeGradients = 90

// TestTilesOfCatalogue runs each task of the catalogue that has tiles of rows in tiles of random sizes, at
// its examples, and if it computes several gradients, for each of them alone. It counts the tasks that have
// tiles at none of their examples, which may only become fewer.
func TestTilesOfCatalogue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	tiled, alone, whole := map[string]bool{}, map[string]bool{}, map[string]string{}
	forEachUse(t, func(t *testing.T, o *task.Operator, _ *program.Use, r *task.Resolution) {
		for n, s := range o.Signatures {
			if s.Kind != task.KindForward && s.Kind != task.KindBackward && s.Kind != task.KindUpdate {
				continue
			}
			name := o.Name + "." + s.Task
			if r.Cuts[[2]int{n, 0}] != nil {
				tiled[name] = true // by hand
				continue
			}
			tiles, err := r.Tiles(n, 0, "")
			if err != nil {
				whole[name] = fmt.Sprint(err)
			} else {
				tiled[name] = true
				for range 4 {
					formula.CompareRows(t, s, r, tiles, "", rng)
				}
			}
			for _, asked := range single(s, r) {
				if tiles, err := r.Tiles(n, 0, asked); err == nil {
					alone[name] = true
					formula.CompareRows(t, s, r, tiles, asked, rng)
				}
			}
		}
	})
	count, none := 0, 0
	for name, why := range whole {
		if !tiled[name] {
			if count++; alone[name] {
				t.Logf("%s has tiles for some gradients alone, and not for all: %s", name, why)
				continue
			}
			none++
			t.Logf("%s: %s", name, why)
		}
	}
	t.Logf("%d tasks have tiles, %d more for some gradients alone, %d do not", len(tiled), count-none, none)
	if count > wholeTasks || none > wholeGradients {
		t.Errorf("%d tasks have no tiles, want at most %d; %d of them for no gradient alone, want at most %d", count, wholeTasks, none, wholeGradients)
	}
}

// single returns what calls ask for that compute one gradient of several.
func single(s *task.Signature, r *task.Resolution) (out []task.Asked) {
	var all [][2]int // parameters and numbers
	for i, p := range s.Params {
		if p.Grad && p.Perm.Writes() {
			for k, o := range r.Operands(p.Slot) {
				if o.Type.IsFloat() {
					all = append(all, [2]int{i, k})
				}
			}
		}
	}
	for _, one := range all {
		if len(all) < 2 {
			break
		}
		out = append(out, s.AskedOf(func(param int, f func(bool, tensor.Mode)) {
			for k := range r.Operands(s.Params[param].Slot) {
				f([2]int{param, k} == one, tensor.Store)
			}
		}))
	}
	return out
}
