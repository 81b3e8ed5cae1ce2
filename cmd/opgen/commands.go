package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/base/nearest"
)

// command is the state of one invocation.
type command struct {
	stdout, stderr io.Writer
	verb           *verb
	dir            string
	format         string
	force, fix     bool
	kernel, cuda   bool
	list, diffs    bool
	simpler        bool
	stages         bool
	loops          bool
	against        string
	module, op     string
	out, inputs    string
	known          string
	reference      string
	keep           bool
	table, workers string
	budget         string
	restarts       string
	fewer          bool
	args           []string
}

// option is a flag. Its value is a text or a truth value of the command.
type option struct {
	name  string
	usage string // with the name of a text's value between backquotes
	text  func(*command) *string
	truth func(*command) *bool
	must  bool // it has to be given
}

// verb is a command that opgen knows. Help, completion, the comment of this package, README and
// docs/commands.md are made from the list of verbs.
type verb struct {
	name     string
	forms    []form
	options  []*option
	formats  []string                // values of -format; none if the command has no such flag
	json     string                  // what -format json prints
	min, max int                     // number of arguments
	complete func(*command) []string // what an argument may be, with a tab and an explanation behind some
	files    bool                    // whether an argument may be a file
	run      func(*command) int
}

// form is a way to call a command.
type form struct{ args, does string }

var (
	optionForce   = &option{name: "force", usage: "also overwrite and delete files that were edited by hand or are not opgen's", truth: func(c *command) *bool { return &c.force }}
	optionFix     = &option{name: "fix", usage: "change specs and opgen.toml as hints say, where a finding has an edit", truth: func(c *command) *bool { return &c.fix }}
	optionAgainst = &option{name: "against", usage: "the git `REVISION` of the version before, such as a tag", text: func(c *command) *string { return &c.against }, must: true}
	optionModule  = &option{name: "module", usage: "also make the folder a Go module with this `PATH`", text: func(c *command) *string { return &c.module }}
	optionOp      = &option{name: "op", usage: "also write the spec of a first operator with this `NAME`", text: func(c *command) *string { return &c.op }}
	optionKernel  = &option{name: "kernel", usage: "also write a kernel, which takes the place of the formula", truth: func(c *command) *bool { return &c.kernel }}
	optionCUDA    = &option{name: "cuda", usage: "also write device code for NVIDIA GPUs, which takes the place of the formula there", truth: func(c *command) *bool { return &c.cuda }}
	optionList    = &option{name: "l", usage: "change nothing, and list the files that differ from their form", truth: func(c *command) *bool { return &c.list }}
	optionSimpler = &option{name: "s", usage: "drop what specs need not say, too", truth: func(c *command) *bool { return &c.simpler }}
	optionDiffs   = &option{name: "d", usage: "change nothing, and print the differences", truth: func(c *command) *bool { return &c.diffs }}
	optionStages  = &option{name: "progress", usage: "print a line for each stage, also where standard error is no terminal", truth: func(c *command) *bool { return &c.stages }}
	optionLoops   = &option{name: "loops", usage: "print the loops that compute the tasks of an operator on CPUs instead, at the examples, and what this processor runs as machine code", truth: func(c *command) *bool { return &c.loops }}
	optionOut     = &option{name: "o", usage: "the `FOLDER` of the package, whose name is that of the folder", text: func(c *command) *string { return &c.out }, must: true}
	optionInput   = &option{name: "input", usage: "`EXTENTS` of inputs to begin with, where the file leaves them open: NAME=1,3,48,320, with spaces between inputs; NAME=2,3;4,3 of the tensors of a sequence, NAME=empty of one without tensors, and NAME=absent of an optional input", text: func(c *command) *string { return &c.inputs }}
	optionKnown   = &option{name: "known", usage: "`VALUES` of inputs that are known when the package is written: NAME=16000, with spaces between inputs", text: func(c *command) *string { return &c.known }}
	optionFixed   = &option{name: "fixed", usage: "keep the extents of -input, rather than let the caller of the package choose them", truth: func(c *command) *bool { return &c.keep }}
	optionRefs    = &option{name: "reference", usage: "also write a test that compares with the inputs and outputs in a `FOLDER`: input_0.pb, output_0.pb and so on, as in the tests of ONNX", text: func(c *command) *string { return &c.reference }}
	optionOver    = &option{name: "force", usage: "also write over files of the folder that have other content", truth: func(c *command) *bool { return &c.force }}
	optionTable   = &option{name: "o", usage: "the `FILE` of the table, which is changed; by default tuned.toml beside opgen.toml", text: func(c *command) *string { return &c.table }}
	optionWorkers = &option{name: "workers", usage: "the `NUMBER` of workers, on which choices depend; by default 1", text: func(c *command) *string { return &c.workers }}
	optionTime    = &option{name: "time", usage: "the `DURATION` after which no further task is begun, such as 90s; by default there is none", text: func(c *command) *string { return &c.budget }}
	optionRestart = &option{name: "restarts", usage: "the `NUMBER` of restarts at most, by default 3", text: func(c *command) *string { return &c.restarts }}
	optionFewer   = &option{name: "fewer", usage: "give each restart a rank less, down to one: the number behind -n or -np of the command", truth: func(c *command) *bool { return &c.fewer }}
	optionDir     = &option{name: "C", usage: "the `FOLDER` to work in", text: func(c *command) *string { return &c.dir }}
)

var textOrJSON = []string{"text", "json"}

// verbs lists the commands.
func verbs() []*verb {
	return []*verb{
		{name: "init", forms: []form{{"", "write what a Go module needs to begin with, and make opgen a tool of the module"}},
			options: []*option{optionModule, optionOp}, formats: textOrJSON, run: (*command).init,
			json: "An object: `files`, the paths of the files that were written; `tool`, whether the module has the tool opgen; `next`, the commands to run."},
		{name: "generate", forms: []form{{"", "bring the generated packages up to date; keep files that were edited by hand, unless forced"}},
			options: []*option{optionForce, optionStages}, formats: textOrJSON, run: (*command).generate,
			json: "An object: `operators`, their number; `findings`, as `check` prints them; `changes`, the files that differed, each with `path` and `kind`; `refused`, the changes that keep all from being written; `strays`, folders that opgen.toml does not name."},
		{name: "check", forms: []form{{"", "report what is wrong with the specs, and make the edits that findings propose, if asked to"}},
			options: []*option{optionFix, optionStages}, formats: []string{"text", "json", "github"}, run: (*command).check,
			json: "An array of findings. Each has `code`, `rule`, `url`, `message`, and its place: `file`, `line`, `column`, `end_line` and `end_column`. Some have a `hint`, places that are `related`, and `edits`."},
		{name: "diff", forms: []form{{"", "show what generate would change: stale, missing, orphaned and edited files"}},
			options: []*option{optionStages}, formats: textOrJSON, run: (*command).diff,
			json: "The object of `generate`. Changes also have a `diff`."},
		{name: "fmt", forms: []form{{"[FILE...]", "write specs in their form: spaces, blank lines and the order of keys; by default all specs and opgen.toml"}},
			options: []*option{optionDiffs, optionList, optionSimpler}, formats: textOrJSON, max: math.MaxInt, files: true, run: (*command).fmt,
			json: "An array of the files that differ from their form, each with `path` and, with `-d`, `diff`."},
		{name: "watch", forms: []form{{"", "generate when specs, kernels, inputs of plug-ins or opgen.toml change, until interrupted; print findings as they appear"}},
			formats: textOrJSON, run: (*command).watch,
			json: "For each run that changes something, the object of `generate` on a line."},
		{name: "breaking", forms: []form{{"", "list changes since a git revision that break users' code, stored plans or files of variables"}},
			options: []*option{optionAgainst}, formats: textOrJSON, run: (*command).breaking,
			json: "An array of changes. Each has what it `breaks`, the `name` of the operator or enum, its spec, `source`, a `line` there, and a `message`."},
		{name: "explain", forms: []form{{"OP", "print an operator with all that follows from its spec"}, {"CODE", "explain a diagnostic"},
			{"FILE:LINE", "show what a line of a spec becomes, or where generated code comes from"}},
			options: []*option{optionLoops}, formats: textOrJSON, min: 1, max: 1, complete: (*command).explained, files: true, run: (*command).explain,
			json: "Of an operator, the object that plug-ins get. Of a diagnostic, an object with `code`, `title`, `doc` and `url`. Of a line, an object with the line of the spec, `spec`, and an array of declarations, `declarations`: each of both has `file`, `line` and `text`."},
		{name: "lsp", forms: []form{{"", "serve an editor, which starts this command and speaks the Language Server Protocol on standard input and output"}},
			run: (*command).lsp},
		{name: "new", forms: []form{{"OP", "write a spec to begin with, and a kernel or device code by hand, if asked to"}},
			options: []*option{optionKernel, optionCUDA}, formats: textOrJSON, min: 1, max: 1, run: (*command).new,
			json: "An object: `files`, the paths of the files that were written, and `next`, the commands to run."},
		{name: "onnx", forms: []form{{"FILE", "write a network in a file of ONNX as a Go package on generated operators, with its weights"}},
			options: []*option{optionOut, optionInput, optionKnown, optionFixed, optionRefs, optionOver}, min: 1, max: 1, files: true, run: (*command).onnx},
		{name: "run", forms: []form{{"-- COMMAND...", "start a command again when it fails, such as mpiexec with a program that goes on from its last checkpoint; pass signals on, leave no process, and exit with its status"}},
			options: []*option{optionRestart, optionFewer}, min: 1, max: math.MaxInt, run: (*command).run},
		{name: "schema", forms: []form{{"spec", "print the JSON Schema of specs, for editors"}, {"config", "print the JSON Schema of opgen.toml"}},
			min: 1, max: 1, complete: func(*command) []string { return slices.Sorted(maps.Keys(schemas)) }, run: (*command).schema},
		{name: "tune", forms: []form{{"[USE...]", "measure in how many ranges tasks are fastest on this machine, and write what is faster than usual to tuned.toml; a use is an operator, with attributes and shapes or at the sizes of its examples, and by default each operator"}},
			options: []*option{optionTable, optionWorkers, optionTime}, max: math.MaxInt, complete: (*command).operators, run: (*command).tune},
		{name: "vet", forms: []form{{"[PACKAGE...]", "check Go code around operators: arguments are plain data and not changed, views are not kept, raw memory has a reason"}},
			formats: textOrJSON, max: math.MaxInt, files: true, run: (*command).vet,
			json: "An array of findings, each with `code`, the name of the check, `message`, `file`, `line` and `column`."},
		{name: "completion", forms: []form{{"SHELL", "print a script that completes commands, flags, operators and diagnostics, for bash, zsh or fish"}},
			min: 1, max: 1, complete: func(*command) []string { return slices.Sorted(maps.Keys(completions)) }, run: (*command).completion},
		{name: "version", forms: []form{{"", "print the version"}}, formats: textOrJSON, run: (*command).version,
			json: "An object: `version`, `revision`, that of the version control system if it is known, and `edition`, that of the spec language."},
	}
}

// allOptions returns the flags of a command.
func (v *verb) allOptions() []*option {
	list := slices.Clone(v.options)
	if v.formats != nil {
		list = append(list, &option{name: "format", usage: "how to print: `" + strings.Join(v.formats, "|") + "`", text: func(c *command) *string { return &c.format }})
	}
	return append(list, optionDir)
}

// value returns the name of an option's value; "" if it has none.
func (o *option) value() string {
	if o.text == nil {
		return ""
	}
	_, rest, _ := strings.Cut(o.usage, "`")
	name, _, _ := strings.Cut(rest, "`")
	return name
}

// call returns how a form of a command is called, such as opgen check [-fix], without -C.
func (v *verb) call(f form) string {
	words := []string{"opgen", v.name}
	for _, o := range v.allOptions() {
		if o == optionDir {
			continue
		}
		word := strings.TrimSpace("-" + o.name + " " + o.value())
		if !o.must {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	if f.args != "" {
		words = append(words, f.args)
	}
	return strings.Join(words, " ")
}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" {
		w, status := stdout, clean
		if len(args) == 0 {
			w, status = stderr, trouble
		}
		usage(w)
		return status
	}
	if args[0] == complete { // completion scripts ask for candidates
		for _, c := range candidates(args[1:]) {
			fmt.Fprintln(stdout, c)
		}
		return clean
	}
	name, rest := splitCommand(args)
	var names []string
	for _, v := range verbs() {
		if v.name == name {
			return v.invoke(&command{stdout: stdout, stderr: stderr, verb: v}, rest)
		}
		names = append(names, v.name)
	}
	if name == "" {
		fmt.Fprintln(stderr, "opgen: no command")
		usage(stderr)
		return trouble
	}
	hint := ""
	if n := nearest.Begun(name, names); n != "" {
		hint = fmt.Sprintf("; did you mean %s?", n)
	}
	fmt.Fprintf(stderr, "opgen: unknown command %q%s\n", name, hint)
	usage(stderr)
	return trouble
}

// invoke runs a command with its flags and arguments, and returns the exit status.
func (v *verb) invoke(c *command, args []string) int {
	fs := flag.NewFlagSet("opgen "+v.name, flag.ContinueOnError)
	fs.SetOutput(c.stderr)
	fs.Usage = func() {
		for _, f := range v.forms {
			fmt.Fprintln(c.stderr, "usage:", v.call(f))
		}
		fs.PrintDefaults()
	}
	c.dir, c.format = ".", "text"
	for _, o := range v.allOptions() {
		if o.text != nil {
			fs.StringVar(o.text(c), o.name, *o.text(c), o.usage)
		} else {
			fs.BoolVar(o.truth(c), o.name, false, o.usage)
		}
	}
	rest, err := parse(fs, args)
	if errors.Is(err, flag.ErrHelp) {
		return clean
	}
	if err != nil {
		if _, name, ok := strings.Cut(err.Error(), "not defined: -"); ok {
			var names []string
			for _, o := range v.allOptions() {
				names = append(names, o.name)
			}
			if n := nearest.Begun(strings.TrimLeft(name, "-"), names); n != "" {
				fmt.Fprintf(c.stderr, "did you mean -%s?\n", n)
			}
		}
		return trouble
	}
	c.args = rest
	if len(rest) < v.min || len(rest) > v.max {
		fs.Usage()
		return trouble
	}
	if v.formats != nil && !slices.Contains(v.formats, c.format) {
		return c.fail(fmt.Errorf("-format: want one of %s, got %q", strings.Join(v.formats, ", "), c.format))
	}
	return v.run(c)
}

// splitCommand returns the command, which is the first argument that is neither a flag nor the value of
// one, and all other arguments.
func splitCommand(args []string) (name string, rest []string) {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case !strings.HasPrefix(a, "-"):
			return a, slices.Concat(args[:i], args[i+1:])
		case takesValue(strings.Trim(a, "-")):
			i++ // its value
		}
	}
	return "", args
}

// takesValue reports whether a flag of any command has a value, which may be the next argument.
func takesValue(name string) bool {
	return slices.ContainsFunc(verbs(), func(v *verb) bool {
		return slices.ContainsFunc(v.allOptions(), func(o *option) bool { return o.name == name && o.text != nil })
	})
}

// parse returns the arguments that are not flags. Flags may be anywhere among them, but not behind the word
// --.
func parse(fs *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		if fs.NArg() == 0 {
			return rest, nil
		}
		if before := len(args) - fs.NArg() - 1; before >= 0 && args[before] == "--" {
			return append(rest, fs.Args()...), nil
		}
		rest = append(rest, fs.Arg(0))
		args = fs.Args()[1:]
	}
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: opgen <command> [-C FOLDER] [flags] [arguments]")
	width := 0
	each := func(do func(call, does string)) {
		for _, v := range verbs() {
			for _, f := range v.forms {
				do(strings.TrimSpace(v.name+" "+f.args), f.does)
			}
		}
	}
	each(func(call, _ string) { width = max(width, len(call)) })
	each(func(call, does string) { fmt.Fprintf(w, "  %-*s  %s\n", width, call, does) })
	fmt.Fprintln(w, "The command's own flags are printed by opgen <command> -h.")
}

// interruptible returns a context that ends when the user interrupts the program.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt)
}
