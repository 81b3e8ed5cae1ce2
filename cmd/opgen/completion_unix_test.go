//go:build unix

package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestBash loads the script in bash, and asks it for completions as bash does at the tabulator key.
func TestBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	s := newSandbox(t, "specs/scale.toml", "specs/shift.toml")
	tool, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s.write("bin/empty", "")
	if err := os.Symlink(tool, s.path("bin/opgen")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ words, want string }{
		{"opgen ver", "version"}, {"opgen explain s", "scale shift specs"}, {"opgen check -format = j", "json"}, {"opgen generate -fo", "-force -format"},
		{"opgen fmt op", "opgen.toml"}, {"opgen -C sp", "specs"},
	} {
		words := strings.Fields(tt.words)
		cmd := exec.Command(bash, "--norc", "--noprofile", "-c", `source <(opgen completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _opgen; printf '%s\n' "${COMPREPLY[@]}"`)
		cmd.Args = append(cmd.Args, append([]string{"bash"}, words...)...)
		cmd.Dir = s.dir
		cmd.Env = append(slices.Clone(s.env), "OPGEN_TEST_MAIN=1", "PATH="+s.path("bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		got := strings.Fields(string(out))
		slices.Sort(got)
		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %q, %v; want %q", tt.words, got, err, tt.want)
		}
	}
	if out, err := exec.Command(bash, "-n", "completion/bash").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
