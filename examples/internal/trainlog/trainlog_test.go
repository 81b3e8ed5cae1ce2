package trainlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opgen/opgen"
)

// TestProgress shows steps as lines, of which only marked ones appear, and on a terminal as a bar, which is
// drawn for marked steps and otherwise at most 20 times a second. The clock is that of the test.
func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		steps := func(p *Progress) {
			for done := 1; done <= 4; done++ {
				p.Update(done, done == 4, fmt.Sprint("step ", done))
				time.Sleep(30 * time.Millisecond)
			}
		}
		var lines, bar bytes.Buffer
		steps(NewProgress(&Output{W: &lines}, 4))
		if got, want := lines.String(), "step 4\n"; got != want {
			t.Errorf("lines: got %q, want %q", got, want)
		}
		steps(&Progress{w: &bar, terminal: true, total: 4})
		part := strings.Repeat("=", 6)
		want := "\r[" + part + strings.Repeat(" ", 18) + "] step 1\r[" + part + part + part + "      ] step 3\r[" + part + part + part + part + "] step 4\n"
		if got := bar.String(); got != want {
			t.Errorf("bar: got %q, want %q", got, want)
		}
	})
}

// TestCurve writes losses, and goes on behind the second one.
func TestCurve(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "curve")
	for _, c := range []struct {
		first int
		lines string
		want  string
	}{{0, "1 a\n2 b\n3 c\n", "1 a\n2 b\n3 c\n"}, {2, "3 d\n", "1 a\n2 b\n3 d\n"}} {
		f, err := OpenCurve(path, c.first)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, c.lines)
		if err := f.Sync(); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != c.want {
			t.Errorf("from step %d: got %q, %v, want %q", c.first, got, err, c.want)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := OpenCurve(path, 4); err == nil || !strings.Contains(err.Error(), "want the losses of 4 steps, got 3") {
		t.Errorf("too few losses: %v", err)
	}
}

// TestChart draws losses; those without a place on a logarithmic axis are left out.
func TestChart(t *testing.T) {
	t.Parallel()
	var c Chart
	for i, loss := range []float64{4, 2, math.NaN(), 0, 1.5} {
		c.Add(11+i, loss)
	}
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(b.String(), "<circle"); got != 3 || strings.Contains(b.String(), "NaN") {
		t.Errorf("%d losses are drawn, want 3:\n%s", got, &b)
	}
	for _, part := range []string{">11</text>", ">15</text>"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("the chart does not say %q:\n%s", part, &b)
		}
	}
}

// TestWriteTimes adds up the times of a task over nodes.
func TestWriteTimes(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	WriteTimes(&b, []opgen.Timing{
		{Label: "a: linear.forward", Runs: 2, Total: time.Millisecond},
		{Label: "fill loss", Runs: 2, Total: time.Millisecond},
		{Label: "b: linear.forward", Runs: 2, Total: 2 * time.Millisecond},
	})
	text := strings.Join(strings.Fields(b.String()), " ")
	if want := "linear.forward 4 3.0 750.0 75.0 % fill 2 1.0 500.0 25.0 %"; !strings.HasSuffix(text, want) {
		t.Errorf("got %s, want %s at the end", text, want)
	}
}

// TestWriteFile writes a file; errors of the folder and of the function are returned.
func TestWriteFile(t *testing.T) {
	t.Parallel()
	dir, bad := t.TempDir(), errors.New("bad")
	write := func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }
	if err := WriteFile("", write); err != nil {
		t.Error(err)
	}
	if err := WriteFile(filepath.Join(dir, "no", "file"), write); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	path := filepath.Join(dir, "file")
	if err := WriteFile(path, func(io.Writer) error { return bad }); err != bad {
		t.Errorf("got %v, want %v", err, bad)
	}
	if err := WriteFile(path, write); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "text" {
		t.Errorf("got %q, %v", got, err)
	}
}
