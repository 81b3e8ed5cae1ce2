package docs

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/base/version"
	"github.com/opgen/opgen/internal/modproxy"
)

var proxy = flag.Bool("proxy", false, "do the tutorial with a release that a folder serves as a module proxy, and measure it")

// firstProgram is how many lines the first program has at most after its imports.
const firstProgram = 30

// TestTutorial does what the tutorial says, in an empty folder, offline from the module cache.
func TestTutorial(t *testing.T) {
	f := newFollower(t)
	start := f.replaced
	if *proxy {
		start = f.served
	}
	f.follow("tutorial.md", start())
	if *proxy {
		t.Logf("the commands took %.1f s of processor time", f.seconds)
	}
	if f.kinds["go"] < 4 || f.kinds["toml"] < 2 || f.kinds["sh"] < 10 || f.kinds["text"] < 6 {
		t.Errorf("found blocks %v: this test looks in the wrong place", f.kinds)
	}
}

// served writes a release of this module to a folder that serves as a proxy. What it depends on comes from
// the module cache.
func (f *follower) served() func(code string) string {
	f.t.Helper()
	folder := f.t.TempDir()
	if _, err := modproxy.Add(folder, "..", "v"+version.Version, ""); err != nil {
		f.t.Fatal(err)
	}
	// A module cache of its own, as another release of the same version may be in the one of the machine.
	// There are no checksums of this release in the database of checksums.
	f.env = append(f.env, "GOPROXY=file://"+filepath.ToSlash(folder)+","+downloads(f.t), "GOSUMDB=off",
		"GOFLAGS=-trimpath -modcacherw", "GOMODCACHE="+f.t.TempDir())
	return func(code string) string { return code }
}

// TestFirstProgram checks how long the first program of the tutorial is, and that README has the same.
func TestFirstProgram(t *testing.T) {
	var programs []string
	for _, page := range []string{"tutorial.md", "../README.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range codeBlock.FindAllStringSubmatch(string(text), -1) {
			if block[1] == "go" {
				_, program, _ := strings.Cut(block[2], ")\n\n") // after the imports
				if page == "../README.md" {
					program = block[2]
				}
				programs = append(programs, program)
				break
			}
		}
	}
	if len(programs) != 2 {
		t.Fatalf("want a program on each page, got %d", len(programs))
	}
	if n := strings.Count(programs[0], "\n"); n > firstProgram || n < 10 {
		t.Errorf("the first program has %d lines after its imports, want at most %d", n, firstProgram)
	}
	for _, function := range strings.SplitAfter(programs[1], "\n}\n") {
		if !strings.Contains(programs[0], strings.TrimSpace(function)) {
			t.Errorf("README has a function that differs from the tutorial:\n%s", function)
		}
	}
}
