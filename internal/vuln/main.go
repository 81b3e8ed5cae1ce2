// Command vuln looks for known vulnerabilities of what a module uses. It installs govulncheck and runs it on
// all packages. The tool and its database come from the network. Without it, nothing is checked, a line says
// so, and the status is 0.
//
// Usage, at the root of a module:
//
//	go run ./internal/vuln [-tool PACKAGE@VERSION] [-db URL] [-limit 5m]
//
// The exit status is 1 if the module calls what has a vulnerability, and 2 for an error that is not one of
// the network.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/opgen/opgen/internal/printer"
)

// vulnerable is the exit status of govulncheck if the module calls what has a vulnerability.
const vulnerable = 3

// unreachable lists what the errors of govulncheck hold if its database cannot be read.
var unreachable = []string{"creating client:", "fetching vulnerabilities:", "fetching db metadata:"}

// check is what is run, with which database, and how long that may take.
type check struct {
	tool, db string
	limit    time.Duration
}

func main() {
	var c check
	flag.StringVar(&c.tool, "tool", "golang.org/x/vuln/cmd/govulncheck@v1.9.0", "the `package` of govulncheck and its version, or the path of an installed one")
	flag.StringVar(&c.db, "db", "https://vuln.go.dev", "the `URL` of the database")
	flag.DurationVar(&c.limit, "limit", 5*time.Minute, "how long all of it may take")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	dir, err := os.MkdirTemp("", "vuln")
	if err != nil {
		fmt.Fprintln(os.Stderr, "vuln:", err)
		os.Exit(2)
	}
	status := printer.Run("vuln", os.Stdout, os.Stderr, func(stdout, _ io.Writer) int { return c.run(dir, stdout) })
	os.RemoveAll(dir)
	os.Exit(status)
}

// run installs the tool in a folder and runs it. It returns the exit status.
func (c *check) run(dir string, w io.Writer) int {
	ctx, cancel := context.WithTimeout(context.Background(), c.limit)
	defer cancel()
	program := c.tool
	if pkg, _, ok := strings.Cut(c.tool, "@"); ok {
		program = filepath.Join(dir, path.Base(pkg))
		if runtime.GOOS == "windows" {
			program += ".exe"
		}
		if out, err := command(ctx, dir, "go", "install", c.tool); err != nil {
			return unchecked(w, fmt.Errorf("%s cannot be installed: %w\n%s", c.tool, err, out))
		}
	}
	out, err := command(ctx, dir, program, "-db", c.db, "./...")
	var exit *exec.ExitError
	switch {
	case err == nil:
		w.Write(out)
		return 0
	case errors.Is(err, context.DeadlineExceeded):
		return unchecked(w, fmt.Errorf("govulncheck takes longer than %v", c.limit))
	case errors.As(err, &exit) && exit.ExitCode() == vulnerable:
		w.Write(out)
		return 1
	}
	for _, text := range unreachable {
		if bytes.Contains(out, []byte(text)) {
			return unchecked(w, fmt.Errorf("the database %s cannot be read:\n%s", c.db, out))
		}
	}
	fmt.Fprintf(w, "vuln: %s: %v\n%s", program, err, out)
	return 2
}

// unchecked says why nothing was checked, and returns the exit status.
func unchecked(w io.Writer, err error) int {
	fmt.Fprintf(w, "vuln: nothing was checked: %v\n", err)
	return 0
}

// command runs a program that installs to a folder, and returns its output. The error is
// context.DeadlineExceeded if the time is over.
func command(ctx context.Context, bin, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(os.Environ(), "GOBIN="+bin, "GOTOOLCHAIN=local", "GOWORK=off")
	c.WaitDelay = 5 * time.Second // for programs that it has started
	out, err := c.CombinedOutput()
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	return out, err
}
