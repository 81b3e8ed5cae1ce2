package main

import (
	"os/exec"
	"path/filepath"
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
