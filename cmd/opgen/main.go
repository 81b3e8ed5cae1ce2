// Opgen generates typed Go packages from operator specs.
//
// Usage:
//
//	opgen init [-module PATH] [-op NAME] [-format text|json]
//	    write what a Go module needs to begin with, and make opgen a tool of the module
//	opgen generate [-force] [-progress] [-format text|json]
//	    bring the generated packages up to date; keep files that were edited by hand, unless forced
//	opgen check [-fix] [-progress] [-format text|json|github]
//	    report what is wrong with the specs, and make the edits that findings propose, if asked to
//	opgen diff [-progress] [-format text|json]
//	    show what generate would change: stale, missing, orphaned and edited files
//	opgen fmt [-d] [-l] [-s] [-format text|json] [FILE...]
//	    write specs in their form: spaces, blank lines and the order of keys; by default all specs and opgen.toml
//	opgen watch [-format text|json]
//	    generate when specs, kernels, inputs of plug-ins or opgen.toml change, until interrupted; print findings as they appear
//	opgen breaking -against REVISION [-format text|json]
//	    list changes since a git revision that break users' code, stored plans or files of variables
//	opgen explain [-loops] [-format text|json] OP
//	    print an operator with all that follows from its spec
//	opgen explain [-loops] [-format text|json] CODE
//	    explain a diagnostic
//	opgen explain [-loops] [-format text|json] FILE:LINE
//	    show what a line of a spec becomes, or where generated code comes from
//	opgen lsp
//	    serve an editor, which starts this command and speaks the Language Server Protocol on standard input and output
//	opgen new [-kernel] [-cuda] [-format text|json] OP
//	    write a spec to begin with, and a kernel or device code by hand, if asked to
//	opgen onnx -o FOLDER [-input EXTENTS] [-known VALUES] [-fixed] [-reference FOLDER] [-force] FILE
//	    write a network in a file of ONNX as a Go package on generated operators, with its weights
//	opgen run [-restarts NUMBER] [-fewer] -- COMMAND...
//	    start a command again when it fails, such as mpiexec with a program that goes on from its last checkpoint; pass signals on, leave no process, and exit with its status
//	opgen schema spec
//	    print the JSON Schema of specs, for editors
//	opgen schema config
//	    print the JSON Schema of opgen.toml
//	opgen tune [-o FILE] [-workers NUMBER] [-time DURATION] [USE...]
//	    measure in how many ranges tasks are fastest on this machine, and write what is faster than usual to tuned.toml; a use is an operator, with attributes and shapes or at the sizes of its examples, and by default each operator
//	opgen vet [-format text|json] [PACKAGE...]
//	    check Go code around operators: arguments are plain data and not changed, views are not kept, raw memory has a reason
//	opgen completion SHELL
//	    print a script that completes commands, flags, operators and diagnostics, for bash, zsh or fish
//	opgen version [-format text|json]
//	    print the version
//
// Flags may be anywhere among the arguments, but not behind the word --. Every command takes -C DIR, the
// folder to work in. The file opgen.toml, there or in a folder above, gives the folders of specs and of
// generated code, and the plug-ins that make further files.
//
// The exit status is 0 without findings, and 1 with findings or differences. It is 2 after other errors:
// wrong usage, or files that cannot be read or written. Command run has the status of what it runs.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/opgen/opgen/internal/printer"
	"github.com/opgen/opgen/internal/progress"
	"github.com/opgen/opgen/internal/vet"
)

// Exit statuses.
const (
	clean    = 0
	findings = 1
	trouble  = 2
)

func main() {
	// A run is short and allocates much memory. Rare garbage collections make it a third faster.
	debug.SetGCPercent(2000)
	if isVetTool(os.Args[1:]) {
		unitchecker.Main(vet.Analyzers...) // it exits
	}
	os.Exit(printer.Run("opgen", os.Stdout, os.Stderr, func(stdout, stderr io.Writer) int { return run(os.Args[1:], stdout, stderr) }))
}

func (c *command) fail(err error) int {
	fmt.Fprintln(c.stderr, "opgen:", err)
	return trouble
}

// progress returns a function that is told what the command does, and one that ends this. On a terminal, a
// line appears if the command takes long, and goes when the command has something to print. With -progress,
// each stage is a line that stays.
func (c *command) progress() (stage func(string), stop func()) {
	if c.stages {
		return func(what string) { fmt.Fprintln(c.stderr, "opgen:", what) }, func() {}
	}
	if p, ok := c.stderr.(*printer.Printer); !ok || !p.Terminal() {
		return nil, func() {}
	}
	l := progress.Start(c.stderr)
	return func(what string) { l.Stage("opgen: " + what) }, l.Stop
}

// print prints a value as JSON, and returns the exit status.
func (c *command) print(v any, found bool) int {
	enc := json.NewEncoder(c.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return c.fail(err)
	}
	if found {
		return findings
	}
	return clean
}
