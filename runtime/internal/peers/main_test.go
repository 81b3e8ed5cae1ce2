package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/internal/schedbench"
)

// TestShapes checks that the graphs are what their names say, and that files hold them.
func TestShapes(t *testing.T) {
	t.Parallel()
	edges := map[string]int{"chain": 99_999, "independent": 0, "layered": 999 * 100 * 3, "wavefront": 2 * 300 * 299, "tree": 1<<17 - 2}
	for _, s := range schedbench.Shapes {
		g := &graph{name: s.Name, preds: s.Preds(schedbench.Tasks), path: filepath.Join(t.TempDir(), s.Name)}
		if err := g.write(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(g.path)
		if err != nil {
			t.Fatal(err)
		}
		words := make([]uint32, len(data)/4)
		if _, err := binary.Decode(data, binary.NativeEndian, words); err != nil {
			t.Fatal(err)
		}
		var want []uint32
		n := 0
		want = append(want, uint32(len(g.preds)))
		for i, ps := range g.preds {
			want = append(want, uint32(len(ps)))
			seen := map[int32]bool{}
			for _, p := range ps {
				if p < 0 || int(p) >= i || seen[p] {
					t.Fatalf("%s: task %d waits for %v", s.Name, i, ps)
				}
				seen[p] = true
				want = append(want, uint32(p))
			}
			n += len(ps)
		}
		if count, ok := edges[s.Name]; !ok || n != count {
			t.Errorf("%s has %d edges, want %d", s.Name, n, count)
		}
		if !slices.Equal(words, want) {
			t.Errorf("%s: the file holds another graph", s.Name)
		}
	}
}

func TestOwn(t *testing.T) {
	t.Parallel()
	g := &graph{name: "small", preds: [][]int32{nil, {0}, {0}, {1, 2}}}
	for _, workers := range []int{1, 2} {
		for _, turns := range []int{0, 1000} {
			r, err := measureOwn(g, workers, 3, turns)
			if err != nil || r.build <= 0 || r.run <= 0 || r.body <= 0 {
				t.Errorf("%d workers, %d turns: %+v, %v", workers, turns, r, err)
			}
			if turns > 0 && r.run < r.body/4 {
				t.Errorf("%d workers: a task takes %v ns, its body alone %v", workers, r.run, r.body)
			}
		}
	}
}

func TestUnknownGraph(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out, 1, 1, 0, "ring"); err == nil || !strings.Contains(err.Error(), "there is no graph ring") {
		t.Errorf("got %v", err)
	}
}
