package workspace_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/workspace"
)

// catalogue returns the specs of this module, with copies under other names if n is more than there are.
func catalogue(t testing.TB, n int) *txtar.Archive {
	t.Helper()
	c, err := driver.Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	a := &txtar.Archive{}
	add := func(name, text string) {
		a.Files = append(a.Files, txtar.File{Name: "specs/" + name + ".toml", Data: []byte(text)})
	}
	for _, in := range c.Inputs {
		add(strings.TrimSuffix(filepath.Base(in.Path), ".toml"), in.Text)
	}
	for i := 0; len(a.Files) < n; i++ {
		in := c.Inputs[i%len(c.Inputs)]
		if strings.Contains(in.Text, "kernels") {
			continue
		}
		add(fmt.Sprintf("%s_copy%d", strings.TrimSuffix(filepath.Base(in.Path), ".toml"), i/len(c.Inputs)), in.Text)
	}
	return a
}

// BenchmarkKey measures the time from a key to findings in a module of 200 specs: those of the file that is
// edited, and those of all files.
func BenchmarkKey(b *testing.B) {
	d := module(b, catalogue(b, 200))
	for _, name := range []string{"softmax", "linear", "multihead_attention", "conv_2d", "uniform", "activation"} {
		path := "specs/" + name + ".toml"
		for _, whole := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/all=%v", name, whole), func(b *testing.B) {
				var c workspace.Cache
				all(b, &c, d, nil)
				base, err := d.Texts(nil)
				if err != nil {
					b.Fatal(err)
				}
				text, _ := c.Open(base).Text(path)
				i := 0
				for b.Loop() {
					i++
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
