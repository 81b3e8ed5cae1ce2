package workspace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/workspace"
)

// catalogue returns the specs of this module, with copies under other names if n is more than there are.
func catalogue(t testing.TB, n int) *txtar.Archive {
	t.Helper()
	c, err := driver.Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	a := &txtar.Archive{Files: []txtar.File{{Name: "go.mod", Data: []byte("module github.com/opgen/opgen\n")}}}
	for _, pattern := range []string{"kernels/*.go", "kernels/*.cu", "runtime/*/*.go"} { // which specs name
		files, err := filepath.Glob("../../" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			a.Files = append(a.Files, txtar.File{Name: strings.TrimPrefix(filepath.ToSlash(f), "../../"), Data: data})
		}
	}
	specs := 0
	add := func(name, text string) {
		specs++
		a.Files = append(a.Files, txtar.File{Name: "specs/" + name + ".toml", Data: []byte(text)})
	}
	for _, in := range c.Inputs {
		add(strings.TrimSuffix(filepath.Base(in.Path), ".toml"), in.Text)
	}
	for i := 0; specs < n; i++ {
		in := c.Inputs[i%len(c.Inputs)]
		name := strings.TrimSuffix(filepath.Base(in.Path), ".toml")
		byHand := slices.ContainsFunc(a.Files, func(f txtar.File) bool {
			return strings.HasPrefix(f.Name, "kernels/") && strings.Contains(string(f.Data), "type "+goname.Exported(name)+"[")
		})
		if byHand || strings.Contains(in.Text, "kernels") {
			continue
		}
		add(fmt.Sprintf("%s_copy%d", name, i/len(c.Inputs)), in.Text)
	}
	return a
}

// BenchmarkKey measures the time from a key to findings in a module of 200 specs: those of the file that is
// edited, and those of all files.
func BenchmarkKey(b *testing.B) {
	d := module(b, catalogue(b, 200))
	var c workspace.Cache
	if found := all(b, &c, d, nil); len(found) > 0 {
		b.Fatal(found)
	}
	i := 0
	for _, name := range []string{"softmax", "linear", "multihead_attention", "conv_2d", "zero", "activation"} {
		path := "specs/" + name + ".toml"
		for _, whole := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/all=%v", name, whole), func(b *testing.B) {
				base, err := d.Texts(nil)
				if err != nil {
					b.Fatal(err)
				}
				text, _ := c.Open(base).Text(path)
				for b.Loop() {
					i++ // so that no text was there before
					edited := strings.Replace(text, "doc ", fmt.Sprintf("# %d\ndoc ", i), 1)
					texts, err := d.Texts(map[string]string{path: edited})
					if err != nil {
						b.Fatal(err)
					}
					s := c.Open(texts)
					if whole {
						_, err = s.All(context.Background(), path)
					} else {
						_, err = s.Findings(context.Background(), path)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
