//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestF18Pipes checks that a pipe or a device in the place of each file that opgen reads is an error, or is
// left alone. A run that hangs, or reads without end, fails the test.
func TestF18Pipes(t *testing.T) {
	for _, name := range []string{"specs/x.toml", "opgen.toml", "go.mod", "kernels/x.go", "generated/scale/attrs.go", "generated/scale/more.go",
		"generated/opgen.sums", "generated/x.json", "inputs/x", "cache"} {
		for what, put := range map[string]func(string) error{
			"a pipe":          func(p string) error { return syscall.Mkfifo(p, 0o666) },
			"a link to zeros": func(p string) error { return os.Symlink("/dev/zero", p) },
			"a link to a pipe": func(p string) error {
				if err := syscall.Mkfifo(p+".fifo", 0o666); err != nil {
					return err
				}
				return os.Symlink(p+".fifo", p)
			},
		} {
			t.Run(name+" is "+what, func(t *testing.T) {
				s := newSandbox(t, "specs/scale.toml")
				s.write("inputs/other", "")
				s.write("kernels/other.go", "package kernels\n")
				if strings.HasPrefix(name, "inputs") {
					s.write("opgen.toml", "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\n[[plugin]]\nname = \"p\"\ncommand = [\"true\"]\nout = \"p\"\ninputs = [\"inputs\"]\n")
				}
				s.opgen("generate")
				file := s.path(name)
				if name == "cache" {
					file = s.cacheFile()
				}
				os.Remove(file)
				if err := put(file); err != nil {
					t.Fatal(err)
				}
				for _, command := range []string{"generate", "check", "diff", "explain", "new"} {
					s.within(time.Minute, command)
				}
			})
		}
	}
}

// cacheFile returns the path of the snapshot.
func (s *sandbox) cacheFile() string {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(strings.TrimPrefix(s.env[len(s.env)-1], "XDG_CACHE_HOME="), "opgen", "*.json"))
	if err != nil || len(files) != 1 {
		s.t.Fatalf("snapshots are %v, %v", files, err)
	}
	return files[0]
}

// within runs opgen, and fails if it does not end in time or crashes. The time is so long that a slow machine
// does not matter.
func (s *sandbox) within(limit time.Duration, command string) {
	s.t.Helper()
	args := []string{command}
	if command == "explain" || command == "new" {
		args = append(args, "scale")
	}
	cmd := s.command(args...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	timer := time.AfterFunc(limit, func() { cmd.Process.Kill() })
	cmd.Wait()
	if !timer.Stop() || cmd.ProcessState.ExitCode() > 2 || strings.Contains(out.String(), "goroutine ") {
		s.t.Errorf("opgen %s hangs or crashes: %v\n%s", command, cmd.ProcessState, &out)
	}
}

// TestModeStays checks that a generated file keeps its mode when a run writes it anew.
func TestModeStays(t *testing.T) {
	s := newSandbox(t, "specs/scale.toml")
	s.want(0, "files created", "generate")
	file := s.path("generated/scale/attrs.go")
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	before := s.files()["generated/scale/attrs.go"]
	s.write("specs/scale.toml", strings.Replace(s.files()["specs/scale.toml"], "default = 2.0", "default = 3.0", 1))
	s.want(0, "1 file updated", "generate")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o640 || s.files()["generated/scale/attrs.go"] == before {
		t.Errorf("the file has mode %v, want 640 and a new text", info.Mode())
	}
}

// TestFullOutput checks that a command of which the output is lost ends with status 2.
func TestFullOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full")
	}
	defer full.Close()
	s := newSandbox(t, "specs/scale.toml")
	for _, args := range [][]string{{"generate"}, {"diff"}, {"check"}, {"check", "-format", "json"}, {"explain", "scale"}, {"explain", "OP101"}, {"new", "x"}, {"version"}, {"help"}} {
		cmd := s.command(args...)
		cmd.Stdout = full
		cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != 2 {
			t.Errorf("opgen %v: status %d, want 2", args, got)
		}
	}
}
