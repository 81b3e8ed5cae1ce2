package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

// limitWrites limits the size of the files that opgen may write, if the environment asks for it and the
// system can.
var limitWrites = func() {}

func TestMain(m *testing.M) {
	if os.Getenv("OPGEN_TEST_MAIN") != "" { // a test runs this program as opgen
		limitWrites()
		main()
	}
	testscript.Main(m, map[string]func(){"opgen": main})
}

// TestScripts runs the scripts in testdata/script, each in a folder of its own.
func TestScripts(t *testing.T) {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	tool, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	caches, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache := strings.Fields(string(caches))
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, ".home"))
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
			env.Setenv("REPOSITORY", repository)
			env.Setenv("GOCACHE", cache[0]) // so that scripts share what is compiled
			env.Setenv("GOMODCACHE", cache[1])
			env.Setenv("GOFLAGS", "-mod=mod -trimpath")
			env.Setenv("MODELS", filepath.Join(repository, "test", "onnx", "testdata", "models"))
			env.Setenv("TOOL", tool) // a link to it with the name opgen is opgen
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status, "replace": replace, "age": age, "link": link,
		},
	})
}

// link gives a file a second name: link $TOOL bin/opgen. A program must not be copied, since a process that
// another test starts at that moment holds the copy open for writing, and then it cannot be run.
func link(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: link file name")
	}
	ts.Check(os.Link(ts.MkAbs(args[0]), ts.MkAbs(args[1])))
}

// status runs a command that must exit with a given status: status 2 opgen foo.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status number command args...")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if want, err := strconv.Atoi(args[0]); err != nil || got != want {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// replace replaces the first occurrence of a text in a file. With -keep, the file keeps its time stamp, as on
// a file system with coarse time stamps.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	keep := len(args) > 0 && args[0] == "-keep"
	if keep {
		args = args[1:]
	}
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace [-keep] file old new")
	}
	path := ts.MkAbs(args[0])
	info, err := os.Stat(path)
	ts.Check(err)
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not contain %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(path, []byte(strings.Replace(text, args[1], args[2], 1)), info.Mode()))
	if keep {
		ts.Check(os.Chtimes(path, time.Time{}, info.ModTime()))
	}
}

// age sets the time stamps of files to an hour ago.
func age(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: age path...")
	}
	then := time.Now().Add(-time.Hour)
	for _, a := range args {
		ts.Check(filepath.WalkDir(ts.MkAbs(a), func(p string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chtimes(p, then, then)
		}))
	}
}
