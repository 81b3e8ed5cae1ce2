package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/internal/base/regular"
	"github.com/opgen/opgen/internal/base/version"
)

// maxModel bounds the bytes of a file with a network.
const maxModel = 2 << 30

// onnx writes a network in a file of ONNX as a Go package. Package opgen-onnx does it, with the catalogue
// that the module uses: opgen itself cannot contain what it generates. The go command compiles it.
func (c *command) onnx() int {
	if c.out == "" {
		return c.fail(errors.New("want the folder of the package, as -o FOLDER"))
	}
	file := c.args[0]
	path := file
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.dir, path)
	}
	data, err := regular.Read(path, maxModel)
	if err == nil {
		_, err = onnxpb.Model(data)
		if err != nil {
			err = fmt.Errorf("%s: %w", file, err)
		}
	}
	if err != nil {
		return c.fail(err)
	}
	ctx, stop := interruptible()
	defer stop()
	dir, err := os.MkdirTemp("", "opgen")
	if err != nil {
		return c.fail(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "opgen-onnx.exe")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, version.Module+"/cmd/opgen-onnx")
	build.Dir = c.dir
	if out, err := build.CombinedOutput(); err != nil {
		return c.fail(fmt.Errorf("want a module that uses %s, whose operators can be compiled: %w\n%s", version.Module, err, out))
	}
	args := []string{"-o", c.out, "-input", c.inputs, "-known", c.known, "-reference", c.reference}
	if c.keep {
		args = append(args, "-fixed")
	}
	if c.force {
		args = append(args, "-force")
	}
	run := exec.CommandContext(ctx, program, append(args, "--", file)...)
	run.Dir, run.Stdout, run.Stderr = c.dir, c.stdout, c.stderr
	err = run.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	case err != nil:
		return c.fail(err)
	}
	return clean
}
