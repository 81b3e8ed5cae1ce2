package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/generate"
)

// isVetTool reports whether the go command runs this program as its vet tool: for its version, for its flags,
// or with the description of a package.
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
	args := []string{"vet", "-vettool=" + self}
	if c.format == "json" {
		args = append(args, "-json")
	}
	cmd := exec.Command("go", append(args, packages...)...)
	var printed bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, c.stdout, c.stderr
	if c.format == "json" {
		cmd.Stdout, cmd.Stderr = &printed, &printed
	}
	var exit *exec.ExitError
	switch err := cmd.Run(); {
	case err == nil && c.format == "json":
		found, err := c.vetFindings(&printed)
		if err != nil {
			return c.fail(err)
		}
		return c.print(found, len(found) > 0)
	case err == nil:
		return clean
	case errors.As(err, &exit):
		printed.WriteTo(c.stderr) // packages that do not compile
		return findings
	default:
		return c.fail(err)
	}
}

// vetFinding is a finding of vet, as JSON.
type vetFinding struct {
	Code string `json:"code"`
	generate.Place
}

// vetFindings reads what go vet -json prints: an object for each package, by check, behind lines that begin
// with #.
func (c *command) vetFindings(r io.Reader) ([]vetFinding, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(l string) bool { return strings.HasPrefix(l, "#") })
	found := []vetFinding{}
	for d := json.NewDecoder(strings.NewReader(strings.Join(lines, ""))); d.More(); {
		var packages map[string]map[string][]struct{ Posn, Message string }
		if err := d.Decode(&packages); err != nil {
			return nil, fmt.Errorf("go vet -json: %w", err)
		}
		for _, p := range slices.Sorted(maps.Keys(packages)) {
			for _, check := range slices.Sorted(maps.Keys(packages[p])) {
				for _, f := range packages[p][check] {
					found = append(found, vetFinding{check, c.vetPlace(f.Posn, f.Message)})
				}
			}
		}
	}
	return found, nil
}

// vetPlace reads a position, file:line:column. The file becomes relative to the folder to work in.
func (c *command) vetPlace(posn, message string) generate.Place {
	p := generate.Place{Message: message}
	file, column, _ := cutLast(posn)
	file, line, _ := cutLast(file)
	p.Line, p.Column = line, column
	if dir, err := filepath.Abs(c.dir); err == nil {
		if rel, err := filepath.Rel(dir, file); err == nil {
			file = rel
		}
	}
	p.File = filepath.ToSlash(file)
	return p
}

// cutLast returns a text before its last colon, and the number behind it.
func cutLast(s string) (before string, number int, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	number, err := strconv.Atoi(s[i+1:])
	return s[:i], number, err == nil
}
