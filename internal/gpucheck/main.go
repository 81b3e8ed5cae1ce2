// Gpucheck checks the CUDA backend on a GPU. It makes a folder, and an archive that unpacks itself, with all
// that the check needs: programs, conformance cases and device code that was compiled ahead. The machine with
// the GPU needs neither Go nor a network nor the CUDA toolkit.
//
//	gpucheck make [-o DIR] [-file FILE]   makes the folder, and the archive
//	gpucheck run [flags]                  runs the check; it is in the folder's program bin/gpucheck
//
// The check prints a table, writes a report and ends with status 1 if something fails. With -emulator it runs
// on the emulator of the driver.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gpucheck:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("want gpucheck make or gpucheck run")

func command(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	flags := flag.NewFlagSet("gpucheck "+args[0], flag.ContinueOnError)
	switch args[0] {
	case "make":
		m := &maker{out: out}
		flags.StringVar(&m.dir, "o", "bin/gpu-check", "the `folder` to make")
		flags.StringVar(&m.file, "file", "bin/opgen-gpu-check.sh", "the `archive` to make; \"\" for none")
		flags.StringVar(&m.emulator, "emulator", "", "the `folder` of an emulator; otherwise one is built")
		flags.BoolVar(&m.quick, "quick", false, "carry no device code, and run the check on the emulator")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return m.make(ctx)
	case "run":
		c := &check{out: out}
		flags.StringVar(&c.dir, "dir", ".", "the `folder` with what is checked")
		flags.StringVar(&c.report, "report", "gpu-check.md", "the `file` of the report")
		flags.StringVar(&c.logs, "logs", "", "the `folder` for all that each step prints")
		flags.StringVar(&c.emulator, "emulator", "", "the `folder` of an emulator to run on")
		flags.BoolVar(&c.quick, "quick", false, "run less of each, as an emulator takes long")
		flags.DurationVar(&c.limit, "limit", 8*time.Minute, "how long the check may take")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		for _, path := range []*string{&c.dir, &c.report, &c.logs, &c.emulator} { // steps run in another folder
			if err := absolute(path); err != nil {
				return err
			}
		}
		return c.run(ctx)
	}
	return errUsage
}

func absolute(path *string) (err error) {
	if *path != "" {
		*path, err = filepath.Abs(*path)
	}
	return err
}
