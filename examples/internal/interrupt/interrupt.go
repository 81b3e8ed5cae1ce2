// Package interrupt tests that trainings go on after they were interrupted.
package interrupt

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Status is the exit status of a program that ended since it was interrupted, and said so.
const Status = 130

// Program is a training with checkpoints: a test program that runs the program under test.
type Program struct {
	// Variable is the environment variable with which the test program is the program.
	Variable string
	// Args are the arguments of a training that keeps its files in a folder, and goes on from the newest
	// checkpoint there, if there is one.
	Args func(dir string) []string
	// Files are the files of the folder that hold the outcome of a training.
	Files []string
}

// Main runs the program if the environment says so, and otherwise the tests. A function TestMain calls it.
func (p *Program) Main(m *testing.M, program func()) {
	if os.Getenv(p.Variable) != "" {
		program()
		return
	}
	os.Exit(m.Run())
}

// Command returns a command that trains in a folder. The shell command limit runs before, such as ulimit.
func (p *Program) Command(t *testing.T, dir, limit string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "sh", append([]string{"-c", limit + `exec "$0" "$@"`, program}, p.Args(dir)...)...)
	c.Env = append(os.Environ(), p.Variable+"=1")
	return c
}

// Outcome returns the contents of the files of a training that has ended.
func (p *Program) Outcome(t *testing.T, dir string) []byte {
	t.Helper()
	var all []byte
	for _, name := range p.Files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return all
}

// Uninterrupted returns the outcome of a training that nothing interrupts, and how long it takes.
func (p *Program) Uninterrupted(t *testing.T) ([]byte, time.Duration) {
	t.Helper()
	dir := t.TempDir()
	start := time.Now()
	if out, err := p.Command(t, dir, "").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return p.Outcome(t, dir), time.Since(start)
}

// Interrupt sends trainings signals at random moments, in turn, until so many have been interrupted. Each
// training goes on from its checkpoints until it ends, with the outcome of one that nothing interrupts, bit
// for bit.
func (p *Program) Interrupt(t *testing.T, times int, signals ...os.Signal) {
	t.Helper()
	want, whole := p.Uninterrupted(t)
	r := rand.New(rand.NewPCG(1, uint64(times)))
	for interrupted := 0; interrupted < times; {
		dir := t.TempDir()
		for p.interrupt(t, dir, time.Duration(r.Float64()*float64(whole)), signals[interrupted%len(signals)]) {
			interrupted++
		}
		if got := p.Outcome(t, dir); !bytes.Equal(got, want) {
			t.Errorf("after %d interruptions the outcome differs from that of a training without any", interrupted)
		}
	}
}

// interrupt trains, and sends a signal after some time. It reports whether that interrupted the training.
// Otherwise the training has ended.
func (p *Program) interrupt(t *testing.T, dir string, after time.Duration, s os.Signal) bool {
	t.Helper()
	c := p.Command(t, dir, "")
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
	case <-time.After(after):
		c.Process.Signal(s) // an error if it ended just now
		err = <-done
		var exit *exec.ExitError
		if errors.As(err, &exit) && (!exit.Exited() || exit.ExitCode() == Status) {
			return true
		}
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return false
}
