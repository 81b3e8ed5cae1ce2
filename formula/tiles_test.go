package formula_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/runtime/task"
)

// wholeTasks is how many tasks of the catalogue have tiles at none of their examples. It may only fall.
const wholeTasks = 76

// TestTilesOfCatalogue runs each task of the catalogue that has tiles of rows in tiles of random sizes, at
// its examples. It counts the tasks that have tiles at none of their examples, which may only become fewer.
func TestTilesOfCatalogue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	tiled, whole := map[string]bool{}, map[string]string{}
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
			tiles, err := r.Tiles(n, 0)
			if err != nil {
				whole[name] = fmt.Sprint(err)
				continue
			}
			tiled[name] = true
			for range 4 {
				formula.CompareRows(t, s, r, tiles, rng)
			}
		}
	})
	count := 0
	for name, why := range whole {
		if !tiled[name] {
			count++
			t.Logf("%s: %s", name, why)
		}
	}
	t.Logf("%d tasks have tiles, %d do not", len(tiled), count)
	if count > wholeTasks {
		t.Errorf("%d tasks have no tiles, want at most %d", count, wholeTasks)
	}
}
