// Opgen generates typed Go packages from operator specs.
//
// Usage:
//
//	opgen init [-module PATH] [-op NAME] write opgen.toml and what else a module needs to begin with
//	opgen generate [-force]              bring the generated packages up to date
//	opgen check [-format text|json|github]
//	                                     report what is wrong with the specs
//	opgen check -fix                     make the edits that findings propose, and report the rest
//	opgen diff                           show what generate would change, and change nothing
//	opgen breaking -against REV          list changes since a git revision that break code, plans or files of variables
//	opgen explain [-format text|json] OP print the resolved model of an operator
//	opgen explain CODE                   explain a diagnostic
//	opgen explain FILE:LINE              show what a line of a spec becomes, or where generated code comes from
//	opgen new [-kernel] OP               write a first spec of an operator, and a kernel by hand
//	opgen vet [PACKAGE...]               check Go code around operators; by default ./...
//	opgen version                        print the version
//
// Flags may be anywhere among the arguments. Every command takes -C DIR, the folder to work in. The file
// opgen.toml, there or in a folder above, gives the folders of specs and of generated code, and the plug-ins
// that make further files.
//
// The exit status is 0 without findings, and 1 with findings or differences. It is 2 after other errors:
// wrong usage, or files that cannot be read or written.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/opgen/opgen/generate"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/english"
	"github.com/opgen/opgen/internal/explain"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/nearest"
	"github.com/opgen/opgen/internal/output"
	"github.com/opgen/opgen/internal/printer"
	"github.com/opgen/opgen/internal/scaffold"
	"github.com/opgen/opgen/internal/version"
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

// command is the state of one invocation.
type command struct {
	stdout, stderr io.Writer
	dir            string
	force, fix     bool
	kernel         bool
	cuda           bool
	format         string
	against        string
	module, op     string
	args           []string
}

var commands = []struct {
	name, args string
	flags      []string
	min, max   int
	run        func(*command) int
}{
	{"init", "", []string{"module"}, 0, 0, (*command).init},
	{"generate", "", []string{"force"}, 0, 0, (*command).generate},
	{"check", "", []string{"format", "fix"}, 0, 0, (*command).check},
	{"diff", "", nil, 0, 0, (*command).diff},
	{"breaking", "-against REVISION", []string{"format", "against"}, 0, 0, (*command).breaking},
	{"explain", "OP, CODE or FILE:LINE", []string{"format"}, 1, 1, (*command).explain},
	{"new", "OP", []string{"kernel", "cuda"}, 1, 1, (*command).new},
	{"vet", "[PACKAGE...]", nil, 0, math.MaxInt, (*command).vet},
	{"version", "", nil, 0, 0, (*command).version},
}

func run(args []string, stdout, stderr io.Writer) int {
	c := &command{stdout: stdout, stderr: stderr}
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" {
		w, status := stdout, clean
		if len(args) == 0 {
			w, status = stderr, trouble
		}
		usage(w)
		return status
	}
	name, rest := splitCommand(args)
	var names []string
	for _, cmd := range commands {
		names = append(names, cmd.name)
		if cmd.name != name {
			continue
		}
		fs := flag.NewFlagSet("opgen "+cmd.name, flag.ContinueOnError)
		fs.SetOutput(stderr)
		fs.Usage = func() {
			fmt.Fprintf(stderr, "usage: opgen %s [flags] %s\n", cmd.name, cmd.args)
			fs.PrintDefaults()
		}
		fs.StringVar(&c.dir, "C", ".", "the `folder` to work in")
		if slices.Contains(cmd.flags, "force") {
			fs.BoolVar(&c.force, "force", false, "also overwrite and delete files that were edited by hand or are not opgen's")
		}
		if slices.Contains(cmd.flags, "format") {
			fs.StringVar(&c.format, "format", "text", "how to print: one of "+strings.Join(formats(name), ", "))
		}
		if slices.Contains(cmd.flags, "against") {
			fs.StringVar(&c.against, "against", "", "the git `revision` of the version before, such as a tag")
		}
		if slices.Contains(cmd.flags, "fix") {
			fs.BoolVar(&c.fix, "fix", false, "change specs and opgen.toml as hints say, where a finding has an edit")
		}
		if slices.Contains(cmd.flags, "module") {
			fs.StringVar(&c.module, "module", "", "also make the folder a Go module with this `path`")
			fs.StringVar(&c.op, "op", "", "also write the spec of a first `operator`")
		}
		if slices.Contains(cmd.flags, "kernel") {
			fs.BoolVar(&c.kernel, "kernel", false, "also write a kernel, which takes the place of the formula")
			fs.BoolVar(&c.cuda, "cuda", false, "also write device code for NVIDIA GPUs, which takes the place of the formula there")
		}
		rest, err := parse(fs, rest)
		if errors.Is(err, flag.ErrHelp) {
			return clean
		}
		if err != nil {
			return trouble
		}
		c.args = rest
		if len(rest) < cmd.min || len(rest) > cmd.max {
			fs.Usage()
			return trouble
		}
		if c.format != "" && !slices.Contains(formats(name), c.format) {
			return c.fail(fmt.Errorf("-format: want one of %s, got %q", strings.Join(formats(name), ", "), c.format))
		}
		return cmd.run(c)
	}
	if name == "" {
		fmt.Fprintln(stderr, "opgen: no command")
		usage(stderr)
		return trouble
	}
	hint := ""
	if n := nearest.Name(name, names); n != "" {
		hint = fmt.Sprintf("; did you mean %s?", n)
	}
	fmt.Fprintf(stderr, "opgen: unknown command %q%s\n", name, hint)
	usage(stderr)
	return trouble
}

// formats returns the values of -format that a command knows. GitHub shows findings beside the lines of a pull request.
func formats(command string) []string {
	if command == "check" {
		return []string{"text", "json", "github"}
	}
	return []string{"text", "json"}
}

// splitCommand returns the command, which is the first argument that is neither a flag nor the value of
// one, and all other arguments.
func splitCommand(args []string) (name string, rest []string) {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case !strings.HasPrefix(a, "-"):
			return a, slices.Concat(args[:i], args[i+1:])
		case slices.Contains([]string{"C", "format", "against", "module", "op"}, strings.Trim(a, "-")):
			i++ // its value
		}
	}
	return "", args
}

// parse returns the arguments that are not flags. Flags may be anywhere among them.
func parse(fs *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		if fs.NArg() == 0 {
			return rest, nil
		}
		rest = append(rest, fs.Arg(0))
		args = fs.Args()[1:]
	}
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: opgen <command> [-C folder] [flags] [arguments]")
	for _, c := range commands {
		fmt.Fprintf(w, "  %s\n", strings.TrimSpace(c.name+" "+c.args))
	}
}

func (c *command) fail(err error) int {
	fmt.Fprintln(c.stderr, "opgen:", err)
	return trouble
}

// report prints findings and returns the exit status.
func (c *command) report(r *generate.Result) int {
	found := r.Findings
	if c.format == "json" {
		if err := c.printJSON(found); err != nil {
			return c.fail(err)
		}
	}
	if len(found) == 0 {
		return clean
	}
	if c.format != "json" {
		for _, f := range found {
			if c.format == "github" {
				fmt.Fprintln(c.stdout, f.GitHub())
			} else {
				fmt.Fprint(c.stderr, f.Text())
			}
		}
		if r.Unshown > 0 {
			fmt.Fprintf(c.stderr, "opgen: %s, of which the first %d are shown\n", english.Count(len(found)+r.Unshown, "finding"), len(found))
		} else {
			fmt.Fprintf(c.stderr, "opgen: %s\n", english.Count(len(found), "finding"))
		}
	}
	return findings
}

func (c *command) printJSON(v any) error {
	enc := json.NewEncoder(c.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func (c *command) generate() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := generate.Write(ctx, generate.Options{Dir: c.dir, Force: c.force})
	if err != nil {
		return c.fail(err)
	}
	c.strays(r)
	if len(r.Findings) > 0 {
		if len(r.Changes) > 0 && len(r.Refused) == 0 { // the findings are about kernels
			fmt.Fprintln(c.stdout, "opgen:", r.Summary())
		}
		return c.report(r)
	}
	if len(r.Refused) > 0 {
		return c.refused(r.Refused)
	}
	fmt.Fprintln(c.stdout, "opgen:", r.Summary())
	return clean
}

// refused names the files that keep generated ones from being written, and returns the exit status.
func (c *command) refused(changes []generate.Change) int {
	blocked := false
	for _, ch := range changes {
		fmt.Fprintf(c.stderr, "%s: %s\n", ch.Path, ch.Kind)
		blocked = blocked || ch.New == nil && ch.Kind == output.Blocked.String()
	}
	if blocked {
		fmt.Fprintln(c.stderr, "opgen: nothing was written; move what is in the way to another place")
	} else {
		fmt.Fprintf(c.stderr, "opgen: nothing was written, because changes in %s would be lost; move them into a spec or a kernel, or use -force\n", english.Count(len(changes), "file"))
	}
	return findings
}

// strays names folders with generated files that opgen.toml does not name.
func (c *command) strays(r *generate.Result) {
	for _, dir := range r.Strays {
		fmt.Fprintf(c.stderr, "opgen: note: %s holds generated files, and %s does not name it; remove it if it is no longer used\n", dir, config.Name)
	}
}

func (c *command) check() int {
	r, err := generate.Check(generate.Options{Dir: c.dir})
	if err == nil && c.fix {
		r, err = c.fixed(r)
	}
	if err != nil {
		return c.fail(err)
	}
	status := c.report(r)
	if status == clean && c.format != "json" {
		fmt.Fprintln(c.stdout, "opgen:", r.Summary())
	}
	return status
}

// fixed makes the edits of findings and checks again.
func (c *command) fixed(r *generate.Result) (*generate.Result, error) {
	files, err := r.Fix()
	if err != nil {
		return nil, fmt.Errorf("nothing was fixed: %w", err)
	}
	for _, f := range files {
		fmt.Fprintln(c.stderr, "fixed", f)
	}
	return generate.Check(generate.Options{Dir: c.dir})
}

func (c *command) diff() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := generate.Diff(ctx, generate.Options{Dir: c.dir})
	if err != nil {
		return c.fail(err)
	}
	c.strays(r)
	if len(r.Findings) > 0 && len(r.Changes) == 0 {
		return c.report(r)
	}
	for _, ch := range r.Changes {
		fmt.Fprintf(c.stdout, "%s: %s\n", ch.Path, ch.Kind)
		old, new := ch.Path, ch.Path
		if ch.Old == nil {
			old = "/dev/null"
		}
		if ch.New == nil {
			new = "/dev/null"
		}
		c.stdout.Write(diff.Diff(old, ch.Old, new, ch.New))
	}
	fmt.Fprintln(c.stdout, "opgen:", r.Summary())
	if c.report(r) != clean || len(r.Changes) > 0 { // the findings are about kernels
		return findings
	}
	return clean
}

func (c *command) explain() int {
	name := c.args[0]
	if rule, ok := diag.Rules[diag.Code(strings.ToUpper(name))]; ok {
		fmt.Fprintf(c.stdout, "%s: %s\n\n%s\n", strings.ToUpper(name), rule.Title, rule.Doc)
		return clean
	}
	root, err := config.Find(c.dir)
	if err != nil {
		return c.fail(err)
	}
	if file, line, ok := place(name); ok {
		return c.explainLine(root, file, line)
	}
	p, err := driver.Load(root)
	if err != nil {
		return c.fail(err)
	}
	m := p.Module()
	if m == nil {
		return c.check() // which reports what is wrong
	}
	i := slices.IndexFunc(m.Operators, func(o *model.Operator) bool { return o.Name == name })
	if i < 0 {
		var names []string
		for _, o := range m.Operators {
			names = append(names, o.Name)
		}
		hint := "operators are " + strings.Join(names, ", ")
		if n := nearest.Name(name, names); n != "" {
			hint = fmt.Sprintf("did you mean %s?", n)
		}
		return c.fail(fmt.Errorf("there is no operator or diagnostic %s; %s", name, hint))
	}
	if c.format == "json" {
		err = c.printJSON(m.Operators[i])
	} else {
		err = explain.Operator(c.stdout, m.Operators[i])
	}
	if err != nil {
		return c.fail(err)
	}
	return clean
}

// place reads the name of a file and a line, file:line.
func place(s string) (file string, line int, ok bool) {
	file, number, _ := strings.Cut(s, ":")
	line, err := strconv.Atoi(number)
	return file, line, err == nil && line > 0
}

// explainLine prints the declarations that come from a line of a spec, or the line of the spec that a line of
// generated code comes from. The file is relative to the folder to work in.
func (c *command) explainLine(root, file string, line int) int {
	var list diag.List
	conf, err := config.Load(root, &list)
	if err != nil {
		return c.fail(err)
	}
	if conf == nil {
		return c.check() // which reports what is wrong
	}
	full, err := filepath.Abs(filepath.Join(c.dir, file))
	if err != nil {
		return c.fail(err)
	}
	rel, err := filepath.Rel(root, full)
	if err != nil {
		return c.fail(err)
	}
	if err := explain.Line(c.stdout, root, conf.Output, filepath.ToSlash(rel), line); err != nil {
		return c.fail(err)
	}
	return clean
}

func (c *command) new() int {
	root, err := config.Find(c.dir)
	if err != nil {
		return c.fail(err)
	}
	var list diag.List
	cfg, err := config.Load(root, &list)
	if err != nil {
		return c.fail(err)
	}
	if !list.Empty() {
		return c.check() // which reports what is wrong
	}
	files, err := scaffold.New(cfg, c.args[0], scaffold.Parts{Kernel: c.kernel, CUDA: c.cuda})
	for _, f := range files {
		fmt.Fprintln(c.stdout, "wrote", f)
	}
	if err != nil {
		return c.fail(err)
	}
	what := "it"
	switch {
	case c.kernel && c.cuda:
		what = "them"
	case c.kernel || c.cuda:
		what = "both"
	}
	fmt.Fprintf(c.stdout, "next: change %s, then run opgen generate\n", what)
	return clean
}

func (c *command) version() int {
	text := version.Version
	if info, ok := debug.ReadBuildInfo(); ok {
		text = released(info)
	}
	fmt.Fprintf(c.stdout, "opgen %s, spec edition 1\n", text)
	return clean
}

// released returns the version of a program: that of the module that a proxy served or, of a program built in a folder, the version that
// the code names, with the commit if Go notes it.
func released(info *debug.BuildInfo) string {
	main := info.Main
	if main.Replace == nil && main.Sum != "" {
		return strings.TrimPrefix(main.Version, "v")
	}
	text := version.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text
}
