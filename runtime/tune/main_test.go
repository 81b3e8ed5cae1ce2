package tune

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/tuned"
)

// asProgram makes this test the program that opgen tune compiles.
const asProgram = "OPGEN_TEST_TUNE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		Main(catalogue.Register, catalogue.Operators())
		return
	}
	os.Exit(m.Run())
}

// TestProgram measures a use and writes the table. A table that cannot be read stays as it is, with an error.
func TestProgram(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), tuned.File)
	run := func(args ...string) (string, error) {
		c := exec.Command(self, append([]string{"-o", file}, args...)...)
		c.Env = append(os.Environ(), asProgram+"=1")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	out, err := run(`softmax{"dim": 1} input=4x8`)
	if err != nil || !strings.Contains(out, "1 worker") || !strings.Contains(out, ": choices for ") {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := tuned.Read(file); err != nil {
		t.Error(err)
	}
	const damaged = "edition = 7\n"
	if err := os.WriteFile(file, []byte(damaged), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{`softmax{"dim": 1} input=4x8`}, {"-nothing"}} {
		out, err := run(args...)
		if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != 2 {
			t.Errorf("%q: want status 2, got %v\n%s", args, err, out)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != damaged {
		t.Errorf("%v: the table is now %q", err, text)
	}
}
