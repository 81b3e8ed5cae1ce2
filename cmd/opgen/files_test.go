package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const smallSpec = `formula = "output[n] = input[n] * factor"

[attrs]
factor = { type = "float", default = 2.0 }

[slots]
input  = { role = "input", type = "f32", shape = ["N..."] }
output = { role = "output", type = "f32", shape = ["N..."] }

[tasks.forward]
over = "prod(N)"
`

// sandbox is a module in which opgen runs with a cache of its own.
type sandbox struct {
	t   testing.TB
	dir string
	env []string
}

// newSandbox makes a module with the given specs, by path.
func newSandbox(t testing.TB, specs ...string) *sandbox {
	t.Helper()
	s := &sandbox{t: t, dir: t.TempDir(), env: append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())}
	s.write("go.mod", "module example.com/m\n\ngo 1.26.0\n\nrequire github.com/opgen/opgen v0.1.0\n")
	s.write("opgen.toml", "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\n")
	for _, name := range specs {
		s.write(name, "edition = 1\nname = \""+strings.TrimSuffix(filepath.Base(name), ".toml")+"\"\ndoc = \"Scales.\"\n"+smallSpec)
	}
	return s
}

func (s *sandbox) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

func (s *sandbox) write(name, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o777); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path(name), []byte(text), 0o666); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sandbox) link(to, name string) {
	s.t.Helper()
	if err := os.Symlink(to, s.path(name)); err != nil {
		s.t.Skip("links are not possible here")
	}
}

func (s *sandbox) command(args ...string) *exec.Cmd {
	tool, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(tool, args...)
	cmd.Args[0] = "opgen" // under which name this program is opgen
	cmd.Dir, cmd.Env = s.dir, append(slices.Clone(s.env), "OPGEN_TEST_MAIN=1")
	return cmd
}

// opgen runs opgen and returns its exit status, and what it prints.
func (s *sandbox) opgen(args ...string) (int, string) {
	s.t.Helper()
	out, err := s.command(args...).CombinedOutput()
	if err == nil {
		return 0, string(out)
	}
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode(), string(out)
	}
	s.t.Fatal(err)
	return 0, ""
}

// want runs opgen, and checks the exit status and a part of what it prints.
func (s *sandbox) want(status int, text string, args ...string) {
	s.t.Helper()
	if got, out := s.opgen(args...); got != status || !strings.Contains(out, text) {
		s.t.Errorf("opgen %s: status %d, want %d and %q:\n%s", strings.Join(args, " "), got, status, text, out)
	}
}

// files returns the regular files of the module with their content.
func (s *sandbox) files() map[string]string {
	s.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(s.dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(s.dir, p)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return files
}

// unchanged checks that files are as they were.
func (s *sandbox) unchanged(before map[string]string) {
	s.t.Helper()
	if now := s.files(); !maps.Equal(now, before) {
		s.t.Errorf("files changed: %v, before %v", slices.Sorted(maps.Keys(now)), slices.Sorted(maps.Keys(before)))
	}
}

// TestF2LinkedSpecs checks that specs are found behind links, and that generated code stays where there are
// none.
func TestF2LinkedSpecs(t *testing.T) {
	for _, link := range []struct{ from, to string }{{"specs", "real"}, {"specs/more", "elsewhere"}, {"specs/scale.toml", "scale.real"}} {
		t.Run(link.from, func(t *testing.T) {
			s := newSandbox(t, "specs/scale.toml", "specs/more/negate.toml")
			s.want(0, "2 operators: 9 files created", "generate")
			before := s.files()
			if err := os.Rename(s.path(link.from), s.path(link.to)); err != nil {
				t.Fatal(err)
			}
			s.link(s.path(link.to), link.from)
			s.want(0, "2 operators", "generate")
			s.want(0, "up to date", "diff")
			for name, text := range s.files() {
				if strings.HasPrefix(name, "generated/") && before[name] != text {
					t.Errorf("%s has changed", name)
				}
			}
		})
	}
	for name, hide := range map[string]func(*sandbox) error{
		"empty": func(s *sandbox) error { return os.Rename(s.path("specs/scale.toml"), s.path("scale.toml")) },
		"file": func(s *sandbox) error {
			os.RemoveAll(s.path("specs"))
			return os.WriteFile(s.path("specs"), nil, 0o666)
		},
		"missing":   func(s *sandbox) error { return os.RemoveAll(s.path("specs")) },
		"dangling":  func(s *sandbox) error { os.RemoveAll(s.path("specs")); return os.Symlink("nowhere", s.path("specs")) },
		"to itself": func(s *sandbox) error { os.RemoveAll(s.path("specs")); return os.Symlink("specs", s.path("specs")) },
		"to empty": func(s *sandbox) error {
			os.RemoveAll(s.path("specs"))
			os.Mkdir(s.path("empty"), 0o777)
			return os.Symlink("empty", s.path("specs"))
		},
		"cycle": func(s *sandbox) error { return os.Symlink("..", s.path("specs/more")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t, "specs/scale.toml")
			s.want(0, "5 files created", "generate")
			if err := hide(s); err != nil {
				t.Fatal(err)
			}
			before := s.files()
			s.want(2, "opgen: ", "generate")
			s.unchanged(before)
		})
	}
}

// TestF3SameStamp checks that a change is found which keeps size and time stamp, of the file or of a link to
// it.
func TestF3SameStamp(t *testing.T) {
	for _, linked := range []bool{false, true} {
		s := newSandbox(t, "specs/scale.toml")
		file := s.path("specs/scale.toml")
		if linked {
			if err := os.Rename(file, s.path("scale.real")); err != nil {
				t.Fatal(err)
			}
			s.link("../scale.real", "specs/scale.toml")
		}
		s.want(0, "5 files created", "generate")
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(file)
		if err := os.WriteFile(file, bytes.Replace(text, []byte("2.0"), []byte("3.0"), 1), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		s.want(0, "1 file updated", "generate")
		s.want(0, "nothing changed", "generate")
		s.want(0, "up to date", "diff")
	}
}

// TestF8LineEnds checks a module that Git checked out with CRLF: all files, the specs alone, or generated
// files alone.
func TestF8LineEnds(t *testing.T) {
	for _, folder := range []string{"", "specs/", "generated/"} {
		s := newSandbox(t, "specs/scale.toml", "specs/negate.toml")
		s.write("specs/text.toml", "edition = 1\nname = \"text\"\ndoc = \"\"\"\nOne.\n\nTwo.\"\"\"\n"+strings.Replace(smallSpec, `"output[n] = input[n] * factor"`, "'''\n  output[n] = input[n] * factor\n'''", 1))
		s.want(0, "files created", "generate")
		for name, text := range s.files() {
			if strings.HasPrefix(name, folder) {
				s.write(name, strings.ReplaceAll(text, "\n", "\r\n"))
			}
		}
		before := s.files()
		s.want(0, "3 operators, up to date", "diff")
		s.want(0, "3 operators, nothing changed", "generate")
		s.unchanged(before)
		if folder != "specs/" {
			s.write("generated/scale/attrs.go", before["generated/scale/attrs.go"]+"// by hand\r\n")
			s.want(1, "generated/scale/attrs.go: edited by hand", "generate")
		}
	}
}

// TestF14TwoRuns lets runs overlap that write the same files.
func TestF14TwoRuns(t *testing.T) {
	s := newSandbox(t, "specs/scale.toml", "specs/a.toml", "specs/b.toml")
	s.want(0, "files created", "generate")
	for round := range 6 {
		text, _ := os.ReadFile(s.path("specs/scale.toml"))
		old := fmt.Sprintf("default = %d.0", round+2)
		s.write("specs/scale.toml", strings.Replace(string(text), old, fmt.Sprintf("default = %d.0", round+3), 1))
		var runs []*exec.Cmd
		for range 2 + round%2 {
			cmd := s.command("generate")
			cmd.Stderr = new(bytes.Buffer)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			runs = append(runs, cmd)
		}
		for _, cmd := range runs {
			if err := cmd.Wait(); err != nil {
				t.Errorf("round %d: %v: %s", round, err, cmd.Stderr)
			}
		}
		s.want(0, "up to date", "diff")
		s.clean()
	}
}

// clean checks that no run left a file of its own.
func (s *sandbox) clean() {
	s.t.Helper()
	for name := range s.files() {
		if strings.Contains(name, ".opgen") {
			s.t.Errorf("%s is left", name)
		}
	}
}

// TestF15NothingWritten checks that a file in the way of one package keeps all others from being written.
func TestF15NothingWritten(t *testing.T) {
	for name, block := range map[string]func(*sandbox){
		"file":   func(s *sandbox) { s.write("generated/scale", "mine\n") },
		"folder": func(s *sandbox) { s.write("generated/scale/attrs.go/mine", "mine\n") },
		"link": func(s *sandbox) {
			s.write("generated/other/mine", "mine\n")
			s.link("other", "generated/scale")
		},
		"outside":  func(s *sandbox) { s.link(s.t.TempDir(), "generated") },
		"dangling": func(s *sandbox) { s.link("nowhere", "generated") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t, "specs/scale.toml", "specs/negate.toml")
			block(s)
			before := s.files()
			for _, args := range [][]string{{"generate"}, {"generate", "-force"}} {
				if status, out := s.opgen(args...); status == 0 || !strings.Contains(out, "generated") {
					t.Errorf("opgen %v: status %d, want an error that names the file:\n%s", args, status, out)
				}
				s.unchanged(before)
			}
		})
	}
	t.Run("temporary", func(t *testing.T) {
		s := newSandbox(t, "specs/scale.toml")
		s.write("generated/scale/attrs.go.opgen-tmp", "mine\n")
		s.want(0, "files created", "generate")
		if s.files()["generated/scale/attrs.go.opgen-tmp"] != "mine\n" {
			t.Error("a file of a user is lost")
		}
	})
	t.Run("staged", func(t *testing.T) {
		s := newSandbox(t, "specs/scale.toml")
		s.write("generated/.opgen/mine", "mine\n")
		before := s.files()
		s.want(2, ".opgen/mine", "generate")
		s.unchanged(before)
	})
	t.Run("left over", func(t *testing.T) { // of a run that was killed
		s := newSandbox(t, "specs/scale.toml")
		s.write("generated/.opgen/0", "half a fi")
		s.write(".opgen.lock", "")
		s.want(0, "files created", "generate")
		s.clean()
		s.write(".opgen.lock", "") // of one that was killed when all was up to date
		s.want(0, "nothing changed", "generate")
		s.clean()
	})
}

// TestNewIsWhole checks that opgen new writes all of its files or none, and never over or through what is
// there.
func TestNewIsWhole(t *testing.T) {
	for name, block := range map[string]func(*sandbox){
		"kernels a file": func(s *sandbox) { s.write("kernels", "mine\n") },
		"kernel there":   func(s *sandbox) { s.write("kernels/swish.go", "package kernels\n") },
		"dangling":       func(s *sandbox) { s.link("../outside", "specs/swish.toml") },
		"specs a file":   func(s *sandbox) { os.RemoveAll(s.path("specs")); s.write("specs", "mine\n") },
		"no place":       func(s *sandbox) { os.RemoveAll(s.path("specs")); s.link("nowhere", "specs") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t, "specs/scale.toml")
			block(s)
			before := s.files()
			s.want(2, "opgen: ", "new", "-kernel", "swish")
			s.unchanged(before)
		})
	}
	s := newSandbox(t, "specs/scale.toml")
	if err := os.Rename(s.path("specs"), s.path("real")); err != nil {
		t.Fatal(err)
	}
	s.link("real", "specs")
	s.want(0, "wrote specs/swish.toml", "new", "swish")
	s.want(0, "2 operators", "generate")
	s.clean()
}
