package main

import (
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
)

// TestSpecPaths checks that a path of a spec which would end a comment or a link in generated files is a
// finding.
func TestSpecPaths(t *testing.T) {
	for _, folder := range []string{"x\npackage evil", "a/*", "-->", "`", "\"q\"", "a\u202eb", "<b>"} {
		s := newSandbox(t, "specs/"+folder+"/scale.toml")
		if status, out := s.inProcess("check"); status != findings || !strings.Contains(out, "OP002") || strings.Contains(out, "\u202e") {
			t.Errorf("%q: status %d:\n%s", folder, status, out)
		}
	}
	s := newSandbox(t, "specs/My specs-1.2_é/scale.toml")
	if status, out := s.inProcess("check"); status != clean {
		t.Errorf("status %d:\n%s", status, out)
	}
}

// TestNewNames checks kernels that opgen new writes: for operators whose packages have names that the kernel
// uses, and in folders whose names are no names of packages.
func TestNewNames(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, name := range []string{"error", "nil", "task", "dtype", "op", "r", "a", "i", "scale", "range", "m_windows", "x_test"} {
		s := newSandbox(t)
		s.kernel(name, "kernels")
		if status, out := s.inProcess("generate"); status != clean {
			t.Errorf("%s: status %d:\n%s", name, status, out)
		}
	}
	for _, folder := range []string{"my-kernels", "type", "1k", "k.d", "_k", "~", "a/main1", "kernels_test"} {
		s := newSandbox(t)
		s.write("opgen.toml", "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\nkernels = \""+folder+"\"\n")
		s.kernel("swish", folder)
		if status, out := s.inProcess("generate"); status != clean {
			t.Errorf("%s: status %d:\n%s", folder, status, out)
		}
		catalogue := s.files()["generated/catalogue/catalogue.go"]
		if _, err := parser.ParseFile(token.NewFileSet(), "catalogue.go", catalogue, 0); err != nil || !strings.Contains(catalogue, "example.com/m/"+folder+`"`) {
			t.Errorf("%s: %v:\n%s", folder, err, catalogue)
		}
	}
}

// kernel writes an operator with a kernel, and checks that no import of the kernel hides a name that it uses.
func (s *sandbox) kernel(name, folder string) {
	s.t.Helper()
	if status, out := s.inProcess("new", "-kernel", name); status != clean {
		s.t.Errorf("new %s: status %d:\n%s", name, status, out)
	}
	for file, text := range s.files() {
		if path.Dir(file) != folder {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
		if err != nil {
			s.t.Errorf("%s: %v", name, err)
			continue
		}
		seen := map[string]bool{"error": true, "nil": true}
		for _, i := range f.Imports {
			local := path.Base(strings.Trim(i.Path.Value, `"`))
			if i.Name != nil {
				local = i.Name.Name
			}
			if seen[local] {
				s.t.Errorf("%s: the import %s hides another name", name, local)
			}
			seen[local] = true
		}
	}
}

// TestSlotTypes checks dtype variables with the names of the constants of slots and arguments.
func TestSlotTypes(t *testing.T) {
	for _, name := range []string{"SlotInput", "SlotOutput"} {
		s := newSandbox(t)
		s.write("specs/scale.toml", strings.ReplaceAll(textSpecPlain, `"f32"`, `"`+name+`"`)+"\n[dtypes]\n"+name+" = [\"f32\", \"f64\"]\n")
		if status, out := s.inProcess("check"); status != findings || !strings.Contains(out, "OP204") {
			t.Errorf("%s: status %d:\n%s", name, status, out)
		}
	}
}
