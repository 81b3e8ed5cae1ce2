package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
)

// isVetTool reports whether the go command runs this program as its vet tool: for its version, for its flags, or with
// the description of a package.
func isVetTool(args []string) bool {
	if len(args) == 0 {
		return false
	}
	return strings.HasPrefix(args[0], "-V=") || args[0] == "-flags" || strings.HasSuffix(args[len(args)-1], ".cfg")
}

// vet runs go vet with this program as its tool.
func (c *command) vet() int {
	self, err := os.Executable()
	if err != nil {
		return c.fail(err)
	}
	packages := c.args
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	cmd := exec.Command("go", append([]string{"vet", "-vettool=" + self}, packages...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, c.stdout, c.stderr
	var exit *exec.ExitError
	switch err := cmd.Run(); {
	case err == nil:
		return clean
	case errors.As(err, &exit):
		return findings
	default:
		return c.fail(err)
	}
}
