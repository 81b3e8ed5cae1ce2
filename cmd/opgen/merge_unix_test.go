//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// git runs git in a sandbox. It returns what git prints, and whether it succeeded.
func (s *sandbox) git(args ...string) (string, bool) {
	s.t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "core.editor=true"}, args...)...)
	c.Dir, c.Env = s.dir, append(s.env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := c.CombinedOutput()
	return string(out), err == nil
}

func (s *sandbox) mustGit(args ...string) {
	s.t.Helper()
	if out, ok := s.git(args...); !ok {
		s.t.Fatalf("git %s: %s", strings.Join(args, " "), out)
	}
}

// branches makes a repository with an operator, and two branches. On each, change changes specs, and opgen
// generates. The module has pages, and a plug-in that lists the specs as Markdown and as JSON, which has no
// comments. The branch trunk is checked out.
func branches(t *testing.T, change func(s *sandbox, branch string)) *sandbox {
	t.Helper()
	s := newSandbox(t, "specs/middle.toml")
	s.write("opgen.toml", `edition = 1
runtime = "github.com/opgen/opgen/runtime"
pages = "pages"
[[plugin]]
name = "list"
command = ["sh", "list.sh"]
inputs = ["list.sh"]
out = "out"
`)
	s.write("list.sh", `names=$(cd specs && for f in *.toml; do printf '%s\\n' "$f"; done)
json=$(cd specs && for f in *.toml; do printf '\\"%s\\",\\n' "$f"; done)
printf '{"protocol": 1, "files": [{"path": "list.md", "text": "%s"}, {"path": "deep/list.json", "text": "[\\n%s]\\n"}]}' "$names" "$json"
`)
	s.mustGit("init", "-q", "-b", "trunk")
	commit := func(message string) {
		t.Helper()
		s.generates()
		s.mustGit("add", "-A")
		s.mustGit("commit", "-q", "-m", message)
	}
	commit("middle")
	s.mustGit("checkout", "-q", "-b", "side")
	change(s, "side")
	commit("side")
	s.mustGit("checkout", "-q", "trunk")
	change(s, "trunk")
	commit("trunk")
	return s
}

// generates runs opgen generate, which must succeed, and opgen diff, which must find nothing.
func (s *sandbox) generates() {
	s.t.Helper()
	for _, command := range []string{"generate", "diff"} {
		if status, out := s.opgen(command); status != 0 {
			s.t.Fatalf("opgen %s ends with %d: %s", command, status, out)
		}
	}
}

// operator writes a spec.
func (s *sandbox) operator(name string) {
	s.t.Helper()
	s.write("specs/"+name+".toml", "edition = 1\nname = \""+name+"\"\ndoc = \"Scales.\"\n"+smallSpec)
}

// TestMerge merges branches that change the same generated files, in several ways and orders. opgen generate
// makes of the result what it makes of the specs alone.
func TestMerge(t *testing.T) {
	t.Parallel()
	add := func(side, trunk string) func(*sandbox, string) {
		return func(s *sandbox, branch string) {
			for _, name := range strings.Fields(map[string]string{"side": side, "trunk": trunk}[branch]) {
				s.operator(name)
			}
		}
	}
	other := func(s *sandbox, branch string) { // both change one spec
		s.write("specs/middle.toml", strings.Replace(s.files()["specs/middle.toml"], "Scales", map[string]string{"side": "Multiplies", "trunk": "Stretches"}[branch], 1))
	}
	remove := func(s *sandbox, branch string) {
		if branch == "trunk" {
			s.operator("zeta")
		} else if err := os.Rename(s.path("specs/middle.toml"), s.path("specs/other.toml")); err != nil {
			t.Fatal(err)
		} else {
			s.write("specs/other.toml", strings.Replace(s.files()["specs/other.toml"], `"middle"`, `"other"`, 1))
		}
	}
	for name, tt := range map[string]struct {
		change func(*sandbox, string)
		how    string
		status bool // whether git reports no conflict
	}{
		"far":              {add("alpha", "zeta"), "merge side", false},
		"near":             {add("a b", "c d"), "merge side", false},
		"theirs":           {add("alpha", "zeta"), "merge -X theirs side", true},
		"ours":             {add("a b", "c d"), "merge -X ours side", true},
		"rebase":           {add("alpha", "zeta"), "rebase side", false},
		"cherry-pick":      {add("a", "b"), "cherry-pick side", false},
		"squash":           {add("a", "b"), "merge --squash side", false},
		"with base":        {add("a", "b"), "-c merge.conflictStyle=diff3 merge side", false},
		"one spec":         {other, "merge -X ours side", true},
		"an operator goes": {remove, "merge side", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := branches(t, tt.change)
			if out, ok := s.git(strings.Fields(tt.how)...); ok != tt.status {
				t.Fatalf("git %s: got success %v, want %v: %s", tt.how, ok, tt.status, out)
			}
			s.generates()
			s.mustGit("add", "-A")
			if out, _ := s.git("grep", "-l", "-e", "^<<<<<<<", "-e", "^>>>>>>>"); out != "" {
				t.Errorf("conflicts stay in %s", out)
			}
			got := s.files()
			for _, folder := range []string{"generated", "pages", "out"} {
				if err := os.RemoveAll(s.path(folder)); err != nil {
					t.Fatal(err)
				}
			}
			s.generates()
			for path, data := range s.files() {
				if got[path] != data && !strings.HasPrefix(path, ".git/") {
					t.Errorf("%s differs from what the specs give:\n%s", path, got[path])
				}
			}
		})
	}
}

// TestMergeAdded resolves conflicts by taking one side of each, or by hand, and marks them as resolved before
// opgen runs.
func TestMergeAdded(t *testing.T) {
	t.Parallel()
	s := branches(t, func(s *sandbox, branch string) { s.operator(map[string]string{"side": "a", "trunk": "b"}[branch]) })
	if _, ok := s.git("merge", "side"); ok {
		t.Fatal("want a conflict")
	}
	s.mustGit("add", "-A") // with the markers of conflicts
	s.generates()
}

// TestMergeEdited merges branches of which one has an edited file, and edits a file while it has conflicts.
// These are edits by hand, which opgen keeps.
func TestMergeEdited(t *testing.T) {
	t.Parallel()
	const catalogue = "generated/catalogue/catalogue.go"
	change := func(s *sandbox, branch string) { s.operator(map[string]string{"side": "a", "trunk": "b"}[branch]) }
	for name, edit := range map[string]func(s *sandbox){
		"while merging": func(s *sandbox) {
			s.git("merge", "side")
			s.write(catalogue, s.files()[catalogue]+"\n// My own line.\n")
		},
		"before": func(s *sandbox) {
			s.write(catalogue, s.files()[catalogue]+"\n// My own line.\n")
			s.mustGit("commit", "-qam", "edit")
			s.git("merge", "side")
		},
		"without a repository": func(s *sandbox) {
			s.git("merge", "side")
			if err := os.RemoveAll(s.path(".git")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		s := branches(t, change)
		edit(s)
		before := s.files()[catalogue]
		if status, out := s.opgen("generate"); status != 1 || !strings.Contains(out, catalogue+": edited by hand") {
			t.Errorf("%s: opgen generate ends with %d: %s", name, status, out)
		}
		if s.files()[catalogue] != before {
			t.Errorf("%s: the file has changed", name)
		}
	}
}
