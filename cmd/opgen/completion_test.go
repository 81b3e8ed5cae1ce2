package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCandidates completes words behind others. The candidates have no explanations here.
func TestCandidates(t *testing.T) {
	s := newSandbox(t, "specs/scale.toml", "specs/shift.toml")
	for _, tt := range []struct {
		words []string
		want  string // the candidates, or the first and the last of many
	}{
		{nil, "init ... version"},
		{[]string{""}, "init ... version"},
		{[]string{"ver"}, "version"},
		{[]string{"xyz"}, ""},
		{[]string{"-"}, "-C"},
		{[]string{"-C", ""}, ":files"},
		{[]string{"generate", "-"}, "-force -progress -format -C"},
		{[]string{"generate", ""}, ""},
		{[]string{"check", "-f"}, "-fix -format"},
		{[]string{"check", "-format", ""}, "text json github"},
		{[]string{"check", "--format", "j"}, "json"},
		{[]string{"check", "-format=g"}, "-format=github"},
		{[]string{"check", "-format", "="}, "text json github"},
		{[]string{"check", "-format", "=", "t"}, "text"},
		{[]string{"-format", "json", "diff", "-"}, "-progress -format -C"},
		{[]string{"breaking", "-against", ""}, ""},
		{[]string{"explain", "-C", s.dir, "s"}, "scale shift :files"},
		{[]string{"explain", "-C=" + s.dir, "sc"}, "scale :files"},
		{[]string{"-C", s.dir, "explain", "OP10"}, "OP101 ... :files"},
		{[]string{"explain", "-C", filepath.Join(s.dir, "none"), "OP101"}, "OP101 :files"},
		{[]string{"schema", ""}, "config spec"},
		{[]string{"completion", ""}, "bash fish zsh"},
		{[]string{"fmt", ""}, ":files"},
		{[]string{"vet", "./"}, ":files"},
	} {
		var got []string
		for _, c := range candidates(tt.words) {
			name, _, _ := strings.Cut(c, "\t")
			got = append(got, name)
		}
		text := strings.Join(got, " ")
		if first, last, ok := strings.Cut(tt.want, "..."); ok && strings.HasPrefix(text, first) && strings.HasSuffix(text, last) && len(got) > 2 {
			continue
		}
		if text != tt.want {
			t.Errorf("%q: got %q, want %q", tt.words, text, tt.want)
		}
	}
}

// TestBash loads the script in bash, and asks it for completions as bash does at the tabulator key.
func TestBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	s := newSandbox(t, "specs/scale.toml", "specs/shift.toml")
	tool, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s.write("bin/empty", "")
	if err := os.Symlink(tool, s.path("bin/opgen")); err != nil {
		t.Skip("links are not possible here")
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

// TestSyntaxOfScripts lets zsh and fish read their scripts, if they are installed.
func TestSyntaxOfScripts(t *testing.T) {
	t.Parallel()
	for shell, script := range completions {
		if !strings.Contains(script, complete) || !strings.Contains(script, anyFile) {
			t.Errorf("%s: the script does not ask for candidates with files", shell)
		}
		if path, err := exec.LookPath(shell); err == nil {
			if out, err := exec.Command(path, "-n", "completion/"+shell).CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", shell, err, out)
			}
		}
	}
}
