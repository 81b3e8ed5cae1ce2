package main

import (
	"bytes"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// kills is how many times TestKill kills a training.
var kills = flag.Int("kills", 5, "how many times to kill a training")

// asProgram is the environment variable with which the test program is the program digits.
const asProgram = "OPGEN_TEST_DIGITS"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// digits returns a command that trains with checkpoints after each step. It goes on from the newest one, if there is one. The shell
// command limit runs before, such as ulimit.
func digits(t *testing.T, dir, limit string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "sh", "-c", limit+`exec "$0" "$@"`, program, "-workers", "1", "-epochs", "2", "-batch", "256", "-every", "1",
		"-checkpoint", filepath.Join(dir, "checkpoints"), "-resume", "-curve", filepath.Join(dir, "curve"), "-save", filepath.Join(dir, "end"))
	c.Env = append(os.Environ(), asProgram+"=1")
	return c
}

// outcome returns the losses and the variables at the end of a training.
func outcome(t *testing.T, dir string) []byte {
	t.Helper()
	var all []byte
	for _, name := range []string{"curve", "end"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return all
}

// uninterrupted returns the outcome of a training that nothing interrupts, and how long it takes.
func uninterrupted(t *testing.T) ([]byte, time.Duration) {
	t.Helper()
	dir := t.TempDir()
	start := time.Now()
	if out, err := digits(t, dir, "").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return outcome(t, dir), time.Since(start)
}

// TestKill kills trainings at random moments. Each goes on from its checkpoints until it ends, with the losses and the variables of
// one that nothing interrupts, bit for bit.
func TestKill(t *testing.T) {
	t.Parallel()
	want, whole := uninterrupted(t)
	r := rand.New(rand.NewPCG(1, uint64(*kills)))
	for killed := 0; killed < *kills; {
		dir := t.TempDir()
		for {
			c := digits(t, dir, "")
			var out bytes.Buffer
			c.Stdout, c.Stderr = &out, &out
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- c.Wait() }()
			var err error
			select {
			case err = <-done:
			case <-time.After(time.Duration(r.Float64() * float64(whole))):
				c.Process.Kill() // an error if it ended just now
				err = <-done
				var exit *exec.ExitError
				if errors.As(err, &exit) && !exit.Exited() {
					killed++
					continue
				}
			}
			if err != nil {
				t.Fatalf("after %d kills: %v\n%s", killed, err, &out)
			}
			break
		}
		if got := outcome(t, dir); !bytes.Equal(got, want) {
			t.Errorf("after %d kills the outcome differs from that of a training without interruption", killed)
		}
	}
}

// TestFullDisk lets writes of checkpoints fail after some of their bytes. The training ends with an error that says so, and leaves the
// checkpoints from before. It goes on from them to the same outcome.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	want, _ := uninterrupted(t)
	for _, blocks := range []int{2, 30, 250} { // of 512 bytes, or of 1024 in some shells
		dir := t.TempDir()
		c := digits(t, dir, "ulimit -f "+strconv.Itoa(blocks)+"; ")
		out, err := c.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "checkpoint of step 1: ") || !strings.Contains(string(out), "file too large") {
			t.Fatalf("files of %d blocks: got %v, want an error of the checkpoint\n%s", blocks, err, out)
		}
		if left, err := os.ReadDir(filepath.Join(dir, "checkpoints")); err != nil || len(left) > 0 {
			t.Errorf("files of %d blocks: got %v, %v, want no file", blocks, left, err)
		}
		if out, err := digits(t, dir, "").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := outcome(t, dir); !bytes.Equal(got, want) {
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
