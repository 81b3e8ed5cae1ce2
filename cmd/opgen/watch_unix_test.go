//go:build unix

package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// watched is a run of opgen watch.
type watched struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	seen  []string // lines since the last one that was wanted
}

// watch starts opgen watch. Both outputs go to one pipe, so that their lines are in order.
func (s *sandbox) watch(t *testing.T, args ...string) *watched {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := s.command(append([]string{"watch"}, args...)...)
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		cmd.Process.Kill() // which fails if it ended, as it should
		r.Close()
	})
	return &watched{t: t, cmd: cmd, lines: bufio.NewScanner(r)}
}

// put writes a file at once, as editors do: no run sees a part of it.
func (s *sandbox) put(name, text string) {
	s.t.Helper()
	s.write(name+".new/file", text)
	if err := errors.Join(os.Rename(s.path(name+".new/file"), s.path(name)), os.Remove(s.path(name+".new"))); err != nil {
		s.t.Fatal(err)
	}
}

// want waits for a line with a text.
func (w *watched) want(text string) {
	w.t.Helper()
	w.seen = nil
	for w.lines.Scan() {
		if w.seen = append(w.seen, w.lines.Text()); strings.Contains(w.lines.Text(), text) {
			return
		}
	}
	w.t.Fatalf("the command ends without %q, but with\n%s", text, strings.Join(w.seen, "\n"))
}

// interrupt ends the command, which has to succeed, and returns the rest of what it prints.
func (w *watched) interrupt() string {
	w.t.Helper()
	if err := w.cmd.Process.Signal(os.Interrupt); err != nil {
		w.t.Fatal(err)
	}
	var rest []string
	for w.lines.Scan() {
		rest = append(rest, w.lines.Text())
	}
	if err := w.cmd.Wait(); err != nil {
		w.t.Errorf("after an interrupt: %v, want success", err)
	}
	return strings.Join(rest, "\n")
}

// TestWatch changes files of a module while opgen watches it.
func TestWatch(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, "specs/scale.toml")
	spec := s.files()["specs/scale.toml"]
	w := s.watch(t)
	w.want("opgen: 1 operator: 5 files created")

	// Findings appear, stay without being printed again, and disappear. Generated code is as it was until all
	// are gone.
	s.put("specs/scale.toml", strings.Replace(spec, `"prod(N)"`, `"prod(M)"`, 1))
	w.want("specs/scale.toml:14:14: OP403: ")
	w.want("opgen: 1 finding, 1 new, 0 gone")
	s.put("specs/scale.toml", "# moved\n"+strings.Replace(strings.Replace(spec, `"prod(N)"`, `"prod(M)"`, 1), "doc =", "dco =", 1))
	w.want("OP101: a spec has no key dco")
	w.want("opgen: 2 findings, 1 new, 0 gone")
	if seen := strings.Join(w.seen, "\n"); strings.Contains(seen, "OP403") {
		t.Errorf("a finding that stays is printed again:\n%s", seen)
	}
	s.put("specs/scale.toml", strings.Replace(spec, "2.0", "3.0", 1))
	w.want("gone: specs/scale.toml:4:1: OP101: a spec has no key dco")
	w.want("gone: specs/scale.toml:15:14: OP403: ")
	w.want("opgen: no findings, 2 gone")
	w.want("1 file updated")
	if text := s.files()["generated/scale/attrs.go"]; !strings.Contains(text, "Factor: 3,") {
		t.Errorf("the default is not 3:\n%s", text)
	}

	// Files appear and disappear: specs, kernels, opgen.toml with another folder.
	s.put("specs/deep/negate.toml", strings.Replace(spec, `"scale"`, `"negate"`, 1))
	w.want("opgen: 2 operators: 4 files created, 1 file updated")
	s.put("kernels/negate.go", "package kernels\n\ntype Negate struct{}\n")
	w.want("kernels/negate.go:3:6: OP7")
	if err := os.Remove(s.path("kernels/negate.go")); err != nil {
		t.Fatal(err)
	}
	w.want("gone: kernels/negate.go:3:6: OP7")
	s.put("opgen.toml", "edition = 1\n")
	w.want("opgen.toml:1:1: OP102: runtime is missing")
	s.put("opgen.toml", "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\nspecs = \"specs/deep\"\n")
	w.want("opgen: 1 operator: 1 file updated, 4 files removed")

	// The folder of specs is away for a while.
	if err := os.Rename(s.path("specs"), s.path("away")); err != nil {
		t.Fatal(err)
	}
	w.want("opgen: specs/deep: want a folder of specs")
	if err := os.Rename(s.path("away"), s.path("specs")); err != nil {
		t.Fatal(err)
	}
	w.want("opgen: 1 operator, nothing changed")
	if rest := w.interrupt(); rest != "" {
		t.Errorf("printed after an interrupt: %s", rest)
	}
	if status, out := s.opgen("watch", "-C", t.TempDir()); status != trouble || !strings.Contains(out, "no opgen.toml") {
		t.Errorf("in a folder without opgen.toml: status %d: %s", status, out)
	}
}

// TestWatchDuring changes a spec while opgen generates from it: a plug-in does so, which runs when specs were
// read. The next run sees the change.
func TestWatchDuring(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, "specs/scale.toml")
	s.write("later.toml", strings.Replace(s.files()["specs/scale.toml"], "2.0", "7.0", 1))
	s.write("opgen.toml", "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\n[[plugin]]\nname = \"late\"\ncommand = [\"sh\", \"late.sh\"]\nout = \"out\"\n")
	s.write("late.sh", "cat > request.json\ncp later.toml specs/scale.toml\necho '{\"protocol\": 1, \"files\": []}'\n")
	w := s.watch(t, "-format", "json")
	w.want(`{"operators":1,"findings":[],"changes":[{"path":"generated/catalogue/catalogue.go","kind":"missing"},`)
	w.want(`{"operators":1,"findings":[],"changes":[{"path":"generated/scale/attrs.go","kind":"stale"}`)
	if text := s.files()["generated/scale/attrs.go"]; !strings.Contains(text, "Factor: 7,") {
		t.Errorf("the default is not 7:\n%s", text)
	}
	w.interrupt()
}
