// Command slips makes copies of the catalogue with one to four slips in one to three specs, such as a dropped
// line, a misspelled name or a wrong value. Opgen must report what is wrong with them: it may not panic, hang
// or end with another error. What it accepts must generate, and the generated code must compile.
//
// Usage:
//
//	go run ./test/slips [-count N] [-seed N] [-from N]
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"

	"github.com/opgen/opgen/internal/exportdata"
	"github.com/opgen/opgen/internal/printer"
)

func main() {
	count := flag.Int("count", 300, "how many catalogues are made")
	seed := flag.Uint64("seed", 1, "which slips are made")
	from := flag.Int("from", 0, "the number of the first catalogue")
	child := flag.Bool("child", false, "try the catalogues in this process, as the parent process asks for")
	flag.Parse()
	debug.SetGCPercent(800) // catalogues are short-lived
	var err error
	if *child {
		err = try(os.Stdout, *seed, *from, *count)
	} else {
		out := printer.New(os.Stdout)
		err = errors.Join(supervise(out, *seed, *from, *count), out.Err())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "slips:", err)
		os.Exit(1)
	}
}

// limit is how long a catalogue may take.
const limit = 2 * time.Minute

// try tries catalogues and prints a line when one begins, and one when it ends.
func try(w io.Writer, seed uint64, from, count int) error {
	exports, err := exportdata.Files(".", nil, "./runtime/...", "./kernels/internal/...")
	if err != nil {
		return err
	}
	// The snapshots of runs go with the copy.
	cache, err := os.MkdirTemp("", "slips-cache")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	if err := os.Setenv("XDG_CACHE_HOME", cache); err != nil {
		return err
	}
	c, err := newCatalogue(".", exports)
	if c != nil {
		defer c.close()
	}
	if err != nil {
		return err
	}
	for n := from; n < from+count; n++ {
		fmt.Fprintf(w, "begin %d\n", n)
		timer := time.AfterFunc(limit, func() { panic(fmt.Sprintf("no answer within %v", limit)) })
		o, made, err := c.try(seed, uint64(n))
		timer.Stop()
		if err != nil {
			o = outcome("wrong: " + oneLine(err.Error()))
		}
		fmt.Fprintf(w, "end %d %s [%s]\n", n, o, strings.Join(made, ", "))
	}
	return nil
}

// oneLine returns a text without line breaks.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// supervise runs a process that tries catalogues, and starts another one where a catalogue ends it. It prints
// what is wrong, and how many catalogues had which outcome.
func supervise(w io.Writer, seed uint64, from, count int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	outcomes, wrong := map[string]int{}, 0
	fail := func(n int, what string) {
		wrong++
		fmt.Fprintf(w, "catalogue %d: %s\n", n, what)
	}
	for end := from + count; from < end; {
		cmd := exec.Command(self, "-child", "-seed", fmt.Sprint(seed), "-from", fmt.Sprint(from), "-count", fmt.Sprint(end-from))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		begun := -1
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var what string
			var n int
			fmt.Sscan(lines.Text(), &what, &n)
			if what == "begin" {
				begun = n
				continue
			}
			begun, from = -1, n+1
			_, rest, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "end "), " ")
			if o, _, _ := strings.Cut(rest, " "); o != "wrong:" {
				outcomes[o]++
			} else {
				fail(n, rest)
			}
		}
		err = cmd.Wait()
		if begun < 0 && err != nil {
			return fmt.Errorf("%w\n%s", err, &stderr)
		}
		if begun >= 0 {
			fail(begun, "the process ends: "+stderr.String())
			from = begun + 1
		}
	}
	fmt.Fprintf(w, "%d catalogues: %d refused, %d with the same code, %d whose code compiles, %d wrong\n", count, outcomes[string(refused)], outcomes[string(same)], outcomes[string(generated)], wrong)
	if wrong > 0 {
		return fmt.Errorf("want catalogues that opgen refuses, or whose code compiles, got %d others", wrong)
	}
	return nil
}
