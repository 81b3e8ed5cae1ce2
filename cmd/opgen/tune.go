package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"text/template"
	"time"

	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/runtime/tuned"
)

// tuner is the program that measures: package tune with the catalogue of the module.
var tuner = template.Must(template.New("main.go").Parse(`package main

import (
	catalogue "{{.GeneratedImport}}/catalogue"
	"{{.Runtime}}/tune"
)

func main() { tune.Main(catalogue.Register, catalogue.Operators()) }
`))

// tunerFolder is where the go command takes the program to be. There is no such folder: the files are an
// overlay, and within the module, so that they may import internal packages of it.
const tunerFolder = "_opgen_tune"

// tune measures choices for tasks of the module's operators. The go command compiles the program that does
// it, since opgen itself has no kernels of the module.
func (c *command) tune() int {
	args, err := c.tuneArgs()
	if err != nil {
		return c.fail(err)
	}
	root, err := config.Find(c.dir)
	if err != nil {
		return c.fail(err)
	}
	var found diag.List
	conf, err := config.Load(root, &found)
	if err != nil {
		return c.fail(err)
	}
	if !found.Empty() {
		return c.check() // which reports what is wrong
	}
	ctx, stop := interruptible()
	defer stop()
	dir, err := os.MkdirTemp("", "opgen")
	if err != nil {
		return c.fail(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "opgen-tune.exe")
	overlay, err := overlaid(dir, root, conf)
	if err != nil {
		return c.fail(err)
	}
	build := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", program, "./"+tunerFolder)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return c.fail(fmt.Errorf("want a module whose generated packages and kernels can be compiled: %w\n%s", err, out))
	}
	if c.table == "" {
		c.table = filepath.Join(root, tuned.File)
		if here, err := filepath.Abs(c.dir); err == nil {
			if rel, err := filepath.Rel(here, c.table); err == nil {
				c.table = rel
			}
		}
	}
	run := exec.Command(program, append(args, append([]string{"-o", c.table, "--"}, c.args...)...)...)
	run.Dir, run.Stdout, run.Stderr = c.dir, c.stdout, c.stderr
	err = run.Run() // an interrupt goes to the program, too, which keeps what it has measured
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	case err != nil:
		return c.fail(err)
	}
	return clean
}

// tuneArgs returns the flags of the program for the values of this command's.
func (c *command) tuneArgs() (args []string, err error) {
	if c.workers != "" {
		if n, err := strconv.Atoi(c.workers); err != nil || n < 1 {
			return nil, fmt.Errorf("-workers: want a number from 1, got %q", c.workers)
		}
		args = append(args, "-workers", c.workers)
	}
	if c.budget != "" {
		if d, err := time.ParseDuration(c.budget); err != nil || d <= 0 {
			return nil, fmt.Errorf("-time: want a duration, such as 90s, got %q", c.budget)
		}
		args = append(args, "-time", c.budget)
	}
	return args, nil
}

// overlaid writes the program to a folder, and an overlay that puts it into a module.
func overlaid(dir, root string, conf *config.Config) (overlay string, err error) {
	var text bytes.Buffer
	if err := tuner.Execute(&text, conf); err != nil {
		return "", err
	}
	source := filepath.Join(dir, "main.go")
	files, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, tunerFolder, "main.go"): source}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, errors.Join(os.WriteFile(source, text.Bytes(), 0o666), os.WriteFile(overlay, files, 0o666))
}
