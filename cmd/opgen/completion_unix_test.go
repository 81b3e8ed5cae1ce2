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
	s.write("bin/go", "#!/bin/sh\n[ \"$1 $2\" = 'tool opgen' ] && shift 2 && exec opgen \"$@\"\necho \"$COMP_LINE: $*\"\n")
	if err := os.Chmod(s.path("bin/go"), 0o777); err != nil {
		t.Fatal(err)
	}
	const function, program = "_go() { COMPREPLY=(by a function \"$1\"); }; complete -F _go go;", "complete -C go go;"
	for _, tt := range []struct{ before, words, want string }{
		{"", "opgen ver", "version"}, {"", "opgen explain s", "scale shift specs"}, {"", "opgen check -format = j", "json"}, {"", "opgen generate -fo", "-force -format"},
		{"", "opgen fmt op", "opgen.toml"}, {"", "opgen -C sp", "specs"},
		{"", "go tool opgen ver", "version"}, {"", "go tool opgen explain s", "scale shift specs"}, {"", "go tool opgen check -format = j", "json"},
		{"", "go tool opgen -C sp", "specs"}, {function, "go tool opgen sch", "schema"}, {program, "go tool opgen sch", "schema"},
		{"", "go tool op", "opgen"}, {"", "go build", ""}, {"", "go tool compile op", ""},
		{function, "go build", "a by function go"}, {function + "source <(opgen completion bash);", "go build", "a by function go"}, {program, "go build ./x", "./x build go go:"},
	} {
		words := strings.Fields(tt.words)
		cmd := exec.Command(bash, "--norc", "--noprofile", "-c", tt.before+`source <(opgen completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$1"
[[ $(complete -p "$1") =~ -F\ ([^ ]+) ]] && "${BASH_REMATCH[1]}" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"`)
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
