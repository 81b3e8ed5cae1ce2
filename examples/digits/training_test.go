package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/opgen/opgen/examples/internal/interrupt"
)

// kills is how many times TestKill kills a training.
var kills = flag.Int("kills", 5, "how many times to kill a training")

var program = interrupt.Program{
	Variable: "OPGEN_TEST_DIGITS",
	Args: func(dir string) []string {
		return []string{"-workers", "1", "-epochs", "2", "-batch", "256", "-every", "1", "-checkpoint", filepath.Join(dir, "checkpoints"), "-resume",
			"-curve", filepath.Join(dir, "curve"), "-save", filepath.Join(dir, "end")}
	},
	Files: []string{"curve", "end"},
}

func TestMain(m *testing.M) { program.Main(m, main) }

// TestKill kills trainings at random moments. Each goes on from its checkpoints until it ends, with the
// losses and the variables of one that nothing interrupts, bit for bit.
func TestKill(t *testing.T) {
	t.Parallel()
	program.Interrupt(t, *kills, os.Kill)
}

// TestFullDisk lets writes of checkpoints fail after some of their bytes. The training ends with an error
// that says so, and leaves the checkpoints from before. It goes on from them to the same outcome.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	want, _ := program.Uninterrupted(t)
	for _, blocks := range []int{2, 30, 250} { // of 512 bytes, or of 1024 in some shells
		dir := t.TempDir()
		c := program.Command(t, dir, "ulimit -f "+strconv.Itoa(blocks)+"; ")
		out, err := c.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "checkpoint of step 1: ") || !strings.Contains(string(out), "file too large") {
			t.Fatalf("files of %d blocks: got %v, want an error of the checkpoint\n%s", blocks, err, out)
		}
		if left, err := os.ReadDir(filepath.Join(dir, "checkpoints")); err != nil || len(left) > 0 {
			t.Errorf("files of %d blocks: got %v, %v, want no file", blocks, left, err)
		}
		if out, err := program.Command(t, dir, "").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := program.Outcome(t, dir); !bytes.Equal(got, want) {
			t.Errorf("files of %d blocks: the outcome differs from that of a training without interruption", blocks)
		}
	}
}

// TestResume checks what -resume demands.
func TestResume(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := options{seed: 1, workers: 1, devices: 1, epochs: 1, batch: 700, rates: "constant", checkpoints: dir, every: 1}
	var out bytes.Buffer
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*options){
		"has a checkpoint of step 3":                            func(*options) {},
		"the checkpoint of step 3 has seed = 1, want 2":         func(o *options) { o.resume, o.seed = true, 2 },
		"the checkpoint of step 3 has schedule = constant, wan": func(o *options) { o.resume, o.rates = true, "cosine" },
		"no such file": func(o *options) { o.resume, o.curve = true, filepath.Join(dir, "curve") },
	} {
		o := o
		change(&o)
		if err := run(t.Context(), o, &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "curve"), []byte("1 1 0x1p0\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	o.resume, o.curve = true, filepath.Join(dir, "curve")
	if err := run(t.Context(), o, &out); err == nil || !strings.Contains(err.Error(), "want the losses of 3 steps, got 1") {
		t.Errorf("got %v", err)
	}
}
