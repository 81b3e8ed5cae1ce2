package formula_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

var updateWhole = flag.Bool("whole", false, "write the list of tasks without tiles")

// TestTilesOfCatalogue runs each task of the catalogue that has tiles of rows in tiles of random sizes, at
// its examples. It runs a task with several gradients for each gradient alone, too. testdata/whole.txt lists
// the tasks without tiles at all of their examples, and those of which only some gradients alone have tiles:
// a task that joins the list has lost its tiles. With -whole, the test writes the list.
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
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(whole)) {
		switch {
		case tiled[name]:
			continue
		case alone[name]:
			fmt.Fprintf(&list, "%s, but for some gradients alone\n", name)
		default:
			fmt.Fprintln(&list, name)
		}
		t.Logf("%s: %s", name, whole[name])
	}
	t.Logf("%d tasks have tiles", len(tiled))
	const file = "testdata/whole.txt"
	if *updateWhole {
		if err := os.WriteFile(file, []byte(list.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || list.String() != string(want) {
		t.Errorf("%v: tasks without tiles are\n%swant\n%sgo test ./formula -run %s -whole writes the list", err, list.String(), want, t.Name())
	}
}

// single returns the calls that compute one of several gradients of a task.
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
