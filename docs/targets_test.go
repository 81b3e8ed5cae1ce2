package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// cheapTargets run here as they are written. They leave these files.
var cheapTargets = map[string][]string{
	"release": {"bin/proxy/github.com/opgen/opgen/@v/list", "bin/proxy/github.com/opgen/opgen/@v/v0.1.0.zip"},
	"sbom":    {"bin/opgen.cdx.json"},
}

// longTargets are the targets that neither continuous integration nor a test runs, with the reason.
var longTargets = map[string]string{
	"generate":       "make run does it, and opgen diff in make test compares the result",
	"bench":          "measures for most of an hour",
	"peers":          "measures beside other systems",
	"bench-peers":    "measures beside other systems",
	"bench-portable": "measures for some minutes",
	"bench-size":     "takes half an hour and 8 GiB",
	"coverage-table": "make test fails if the table is not up to date",
	"gpu-check":      "takes a quarter of an hour; make cuda makes the archive in a short form",
	"mutate":         "takes a quarter of an hour",
	"mutate-code":    "takes an hour",
	"onnx-speed":     "measures beside ONNX Runtime",
	"node-packages":  "takes some minutes; make test writes a package for each operator",
	"plan-mutants":   "takes some minutes; make property breaks plans",
	"tiles":          "takes a processor of its own; TestF6Size of test/size measures less",
	"ulp":            "takes some minutes; make test compares fewer numbers",
}

var (
	phony    = regexp.MustCompile(`(?m)^\.PHONY: ([a-z][a-z0-9 -]*)$`)
	makeLine = regexp.MustCompile(`\bmake ([a-z][a-z0-9-]*)`)
	ciStep   = regexp.MustCompile(`(?m)^(?:of \d+ && )?step make ([a-z0-9-]+)`)
)

// TestTargets checks that each target of the Makefile, and each one that a page names in a block of commands,
// is run as it is written: by continuous integration, or here, in a copy of the repository as a clone has it.
func TestTargets(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	steps, all := map[string]bool{}, map[string]string{}
	for _, m := range ciStep.FindAllStringSubmatch(read("../.ci/run"), -1) {
		steps[m[1]] = true
	}
	for _, m := range phony.FindAllStringSubmatch(read("../Makefile"), -1) {
		for _, target := range strings.Fields(m[1]) {
			all[target] = "Makefile"
		}
	}
	for _, page := range pages(t) {
		for _, b := range blocksOf(t, page) {
			for _, m := range makeLine.FindAllStringSubmatch(comment.ReplaceAllString(b.code, ""), -1) {
				if b.fence == "" || b.fence == "sh" {
					all[m[1]] = b.String()
				}
			}
		}
	}
	if len(all) < 25 {
		t.Errorf("found the targets %v: this test looks in the wrong place", all)
	}
	for target, at := range all {
		_, cheap := cheapTargets[target]
		_, long := longTargets[target]
		if n := len(slices.DeleteFunc([]bool{steps[target], cheap, long}, func(b bool) bool { return !b })); n != 1 {
			t.Errorf("%s: make %s: want it in .ci/run, among the cheap targets or among the long ones, got %d of these", at, target, n)
		}
	}
	for target := range longTargets {
		if all[target] == "" {
			t.Errorf("there is no target %s", target)
		}
	}
	clone := cloned(t)
	for target, files := range cheapTargets {
		for range 2 { // what the first run leaves does not disturb the second
			c := exec.Command("make", target)
			c.Dir = clone
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("make %s: %v\n%s", target, err, out)
			}
		}
		for _, name := range files {
			if info, err := os.Stat(filepath.Join(clone, filepath.FromSlash(name))); err != nil || info.Size() == 0 {
				t.Errorf("make %s: want the file %s: %v", target, name, err)
			}
		}
	}
	c := exec.Command("git", "status", "--porcelain", "--untracked-files=all")
	c.Dir = clone
	if out, err := c.Output(); err != nil || strings.Contains(string(out), "bin/") {
		t.Errorf("files that git does not ignore are left: %s, %v", out, err)
	}
}

// cloned returns a folder with the files of this repository as git would commit them.
func cloned(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git := func(in string, args ...string) string {
		t.Helper()
		c := exec.Command("git", args...)
		c.Dir = in
		out, err := c.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(git("..", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "-z"), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join("..", name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		to := filepath.Join(dir, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o777)
		}
		if err == nil {
			err = os.WriteFile(to, data, 0o777)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	git(dir, "init", "-q")
	return dir
}

var (
	fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`)
	fuzzLine   = regexp.MustCompile(`(Fuzz\w+),([\w/]+),\d+`)
)

// TestFuzzTargets checks that make fuzz runs each fuzz target of the module, and that it names no others.
func TestFuzzTargets(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range fuzzLine.FindAllStringSubmatch(string(makefile), -1) {
		named[m[2]+" "+m[1]] = true
	}
	found := 0
	err = filepath.WalkDir("..", func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == "testdata" || e.Name() == "bin" || strings.HasPrefix(e.Name(), ".") && path != "..") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range fuzzTarget.FindAllStringSubmatch(string(text), -1) {
			folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
			if found++; !named[folder+" "+m[1]] {
				t.Errorf("make fuzz does not run %s of %s", m[1], folder)
			}
			delete(named, folder+" "+m[1])
		}
		return err
	})
	if err != nil || found == 0 {
		t.Errorf("found %d targets: %v", found, err)
	}
	for name := range named {
		t.Errorf("make fuzz names %s, which is not there", name)
	}
}
