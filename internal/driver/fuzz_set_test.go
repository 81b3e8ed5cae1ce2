package driver_test

import (
	"bytes"
	"fmt"
	"go/format"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
)

// sets are specs of the catalogue that refer to one another: by fusions, by a shared enum, by initializers
// and by formulas.
var sets = [][3]string{
	{"sparse_categorical_crossentropy", "softmax", "log_softmax"}, {"linear", "activation", "kaiming_uniform"}, {"element_unary", "element_binary", "zero"},
	{"batch_matmul", "softmax", "attention"}, {"lamb", "adam", "clip_by_norm"},
}

// FuzzSpecSet generates code from three texts as specs, which may refer to one another. It checks that
// nothing panics, that findings have places, and that generated code is formatted. Edits are as in FuzzSpec;
// each fifth of them changes the same text.
func FuzzSpecSet(f *testing.F) {
	seeds := readFiles(f, repository, "specs")
	for _, set := range sets {
		f.Add(seeds["specs/"+set[0]+".toml"], seeds["specs/"+set[1]+".toml"], seeds["specs/"+set[2]+".toml"], []byte{})
	}
	const enum = "edition = 1\nname = \"mode\"\nkind = \"enum\"\ndoc = \"A mode.\"\n[values]\none = \"first\"\ntwo = \"second\"\n"
	user := fmt.Sprintf(userOfEnum, "first", "mode")
	f.Add(user, fmt.Sprintf(userOfEnum, "second", "mode")+"\n[fuse.first]\nother = \"first\"\nshare = { input = \"output\" }\nmake = { output = \"output\" }\n", enum, []byte{})
	f.Fuzz(func(t *testing.T, a, b, c string, edits []byte) {
		texts := []string{a, b, c}
		for i := 0; i+5 <= len(edits); i += 5 {
			k := int(edits[i]) % len(texts)
			texts[k] = edit(texts[k], edits[i:i+5])
		}
		var inputs []driver.Input
		for _, text := range texts {
			in := driver.Input{Path: "specs/" + specName(text) + ".toml", Text: text}
			if !slices.ContainsFunc(inputs, func(o driver.Input) bool { return o.Path == in.Path }) {
				inputs = append(inputs, in)
			}
		}
		var list diag.List
		m := resolve(inputs, &list)
		if m == nil {
			checkFindings(t, list.Sorted())
			return
		}
		files, err := driver.Emit(fuzzConfig, m)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if path.Ext(file.Path) != ".go" {
				continue
			}
			if again, err := format.Source(file.Data); err != nil || !bytes.Equal(again, file.Data) {
				t.Errorf("%s: want formatted code: %v", file.Path, err)
			}
		}
	})
}

// userOfEnum is a spec with the given name, which uses a shared enum in an expression.
const userOfEnum = `edition = 1
name    = "%[1]s"
doc     = "Uses an enum."
formula = "output[n] = input[n]"

[attrs]
which = { type = "enum", enum = "%[2]s", default = "one" }
times = { type = "int", default = 3 }

[slots]
input  = { role = "input", type = "f32", shape = ["N..."] }
output = { role = "output", type = "f32", shape = ["N..."] }

[require.x]
that    = "which == 'one' || times > 1 && which in ['one', 'two']"
message = "bad"

[tasks.forward]
over = "prod(N)"
`

// TestLocalNames checks that packages with names that variables of generated code, built-in types and
// functions have can be used.
func TestLocalNames(t *testing.T) {
	const enum = "edition = 1\nname = \"%s\"\nkind = \"enum\"\ndoc = \"An enum.\"\n[values]\none = \"first\"\ntwo = \"second\"\n"
	var inputs []driver.Input
	for _, name := range strings.Fields("a b c d e f g h i k n r s t v x ok err ctx opts lanes extent limit attrs shard int bool len nil error string min") {
		inputs = append(inputs, driver.Input{Path: "specs/" + name + ".toml", Text: fmt.Sprintf(enum, name)},
			driver.Input{Path: "specs/use_" + name + ".toml", Text: fmt.Sprintf(userOfEnum, "use_"+name, name)})
	}
	var list diag.List
	m := resolve(inputs, &list)
	if m == nil {
		t.Fatal(list.Sorted()[0])
	}
	files, err := driver.Emit(fuzzConfig, m)
	if err != nil {
		t.Fatal(err)
	}
	checkCompiles(t, slices.DeleteFunc(slices.Clone(files), func(f artifact.Artifact) bool { return path.Ext(f.Path) != ".go" }))
	for _, f := range files {
		if f.Path == "catalogue/catalogue.go" && bytes.Contains(f.Data, []byte("\tr.Operator")) {
			t.Error("a parameter hides a package")
		}
	}
}
