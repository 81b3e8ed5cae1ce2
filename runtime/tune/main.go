package tune

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tuned"
)

// Main is the program that opgen tune compiles for a module: register and operators are those of its
// catalogue. It takes the flags -o, -workers and -time, and uses.
func Main(register func(*task.Registry) error, operators []*graph.Operator) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, register, operators, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "opgen:", err)
		os.Exit(2)
	}
}

// command is Main with its arguments and its output.
func command(ctx context.Context, register func(*task.Registry) error, operators []*graph.Operator, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("tune", flag.ContinueOnError)
	c := config{Operators: operators, Out: out}
	file := flags.String("o", tuned.File, "the file of the table")
	flags.IntVar(&c.Workers, "workers", 1, "the number of workers")
	flags.DurationVar(&c.Budget, "time", 0, "the time after which no further task is begun")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c.Uses = flags.Args()
	table, err := tuned.Read(*file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		table = &tuned.Table{}
	case err != nil:
		return err
	}
	var registry task.Registry
	if err := register(&registry); err != nil {
		return err
	}
	if c.Workers > 0 {
		c.Machine = cost.MeasureMachine(c.Workers)
	}
	fmt.Fprintf(out, "%s, %s\n", tuned.Processor(), english.Count(c.Workers, "worker"))
	measured, chosen, err := run(ctx, &registry, table, c)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(out, "interrupted")
		err = nil
	}
	if err != nil || measured == 0 {
		return err
	}
	if err := replace(*file, table.Text()); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: choices for %d of %s\n", *file, chosen, english.Count(measured, "task"))
	return nil
}

// replace writes a file at once, so that an interrupt leaves the old one or the new one.
func replace(file, text string) error {
	if old, err := os.ReadFile(file); err == nil && string(old) == text {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// began is when this program began to measure.
var began = time.Now()
