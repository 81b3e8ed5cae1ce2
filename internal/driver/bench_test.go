package driver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// BenchmarkGenerate measures a whole run of opgen generate on a module of 200 specs. A cold run reads,
// checks, emits and writes everything. An unchanged run compares the contents of all files.
func BenchmarkGenerate(b *testing.B) {
	ownCache(b)
	defer debug.SetGCPercent(debug.SetGCPercent(2000)) // as opgen's main does
	b.Run("cold", func(b *testing.B) {
		for i := range b.N {
			b.StopTimer()
			root := filepath.Join(b.TempDir(), fmt.Sprint(i))
			manySpecs(b, root, 200)
			b.StartTimer()
			if r := generateAll(b, root); r.UpToDate || len(r.Changes) == 0 {
				b.Fatal("the run did nothing")
			}
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		root := b.TempDir()
		manySpecs(b, root, 200)
		generateAll(b, root)
		for b.Loop() {
			if r := generateAll(b, root); !r.UpToDate {
				b.Fatal("the run did all the work again")
			}
		}
	})
}

// manySpecs makes a module of n specs: this module's own without those that need a kernel by hand, and copies
// of them under other names.
func manySpecs(t testing.TB, root string, n int) {
	t.Helper()
	paths, err := filepath.Glob("../../specs/*.toml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	needed := []string{"zero", "activation"} // by others
	paths = slices.DeleteFunc(paths, func(p string) bool {
		name := strings.TrimSuffix(filepath.Base(p), ".toml")
		_, err := os.Stat("../../kernels/" + name + ".go")
		return err == nil && !slices.Contains(needed, name)
	})
	device, err := os.ReadFile("../../kernels/softmax.cu")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"go.mod":             "module example.com/many\n\ngo 1.26\n\nrequire github.com/opgen/opgen v0.1.0\n",
		"opgen.toml":         "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\n",
		"kernels/softmax.cu": string(device) + strings.ReplaceAll(string(device), "softmax_", "softmax_v1_"),
	}
	for i := range n {
		p := paths[i%len(paths)]
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(p), ".toml")
		if round := i / len(paths); round > 0 {
			name = fmt.Sprintf("%s_v%d", name, round) // the operator is called as its file is
		}
		files["specs/"+name+".toml"] = string(data)
	}
	writeFiles(t, root, files)
}
