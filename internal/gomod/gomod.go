// Package gomod finds the folders of the modules on which a module depends, as the go command chooses them:
// with the versions, replacements and workspace that apply to the module. It also begins modules, and adds
// tools to them.
package gomod

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// ErrNoGo says that there is no go command.
var ErrNoGo = errors.New("the command go is not in PATH")

// ErrUnknown says that the module does not depend on the other one.
var ErrUnknown = errors.New("go.mod does not require it")

// Module is a module on which another one depends.
type Module struct {
	Path    string
	Version string // "" of a module in a workspace
	Dir     string // its folder, absolute
}

// Name returns the path with the version.
func (m *Module) Name() string {
	if m.Version == "" {
		return m.Path
	}
	return m.Path + "@" + m.Version
}

// listed is a module as the go command describes it.
type listed struct {
	Path    string
	Version string
	Dir     string
	Replace *struct{ Version string }
	Error   any // a text, or an object with the text Err
}

// Find returns a module on which the module at root depends. What is neither in a folder nor in the module
// cache is downloaded.
func Find(root, path string) (*Module, error) {
	m, err := list(root, "list", "-m", "-e", "-json", "-mod=readonly", path)
	if err != nil {
		return nil, err
	}
	if m.Dir == "" && m.Error == nil {
		version := m.Version
		if m, err = list(root, "mod", "download", "-json", path+"@"+version); err != nil {
			return nil, err
		}
	}
	if m.Error != nil {
		return nil, errors.New(m.problem())
	}
	found := &Module{Path: m.Path, Version: m.Version, Dir: m.Dir}
	if m.Replace != nil {
		found.Version = m.Replace.Version
	}
	return found, nil
}

// problem returns what the go command says about a module, in one line.
func (m *listed) problem() string {
	text := fmt.Sprint(m.Error)
	if object, ok := m.Error.(map[string]any); ok {
		text = fmt.Sprint(object["Err"])
	}
	return oneLine(text)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// list runs the go command in root, and returns the first module that it prints.
func list(root string, args ...string) (*listed, error) {
	c := exec.Command("go", args...)
	c.Dir = root
	c.Env = append(os.Environ(), "PWD="+root)
	var problems bytes.Buffer
	c.Stderr = &problems
	out, err := c.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, ErrNoGo
	}
	var m listed
	if e := json.NewDecoder(bytes.NewReader(out)).Decode(&m); e == nil {
		return &m, nil
	} else if err == nil && e != io.EOF {
		err = e
	}
	switch {
	case problems.Len() > 0:
		return nil, errors.New(oneLine(problems.String()))
	case err != nil:
		return nil, fmt.Errorf("go %s: %w", args[0], err)
	}
	return nil, ErrUnknown
}
