//go:build cuda

// Gpubench measures operators on a GPU, for the check of package gpucheck. It prints a JSON object for each
// figure, on a line.
//
//	gpubench device            what the GPU is
//	gpubench measure [flags]   times of operators
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/test/networks"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gpubench:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("want device or measure, got nothing")
	}
	switch rest := args[1:]; {
	case args[0] == "device" && len(rest) == 0:
		d, err := describe()
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(d)
	case args[0] == "measure":
		return measure(ctx, rest, out)
	}
	return fmt.Errorf("want device or measure, got %q", args)
}

// measure measures what the flags choose.
func measure(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("measure", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "measure small sizes only")
	load := flags.Bool("load", false, "only load the programs, which compiles their device code")
	groups := flags.String("groups", "copy,memory,product,launch,network,tasks", "what to measure")
	suffix := flags.String("suffix", "", "ends the names of figures")
	if err := flags.Parse(args); err != nil {
		return err
	}
	want := func(group string) bool { return slices.Contains(strings.Split(*groups, ","), group) }
	m := &meter{ctx: ctx, out: json.NewEncoder(out), suffix: *suffix, load: *load}
	if want("copy") && !*load {
		n := int64(1 << 30)
		if *quick {
			n = 1 << 20
		}
		if err := m.copy(n); err != nil {
			return err
		}
	}
	for _, u := range all(*quick) {
		if !want(u.group) {
			continue
		}
		if err := m.use(&u); err != nil {
			return fmt.Errorf("%s: %w", u.name, err)
		}
	}
	for i := range networks.All {
		w := &networks.All[i]
		if *quick && w.Name != "mlp" {
			continue
		}
		if want("network") {
			if err := m.network(w); err != nil {
				return fmt.Errorf("%s: %w", w.Title, err)
			}
		}
		if want("tasks") {
			if err := m.tasks(w); err != nil {
				return fmt.Errorf("%s: %w", w.Title, err)
			}
		}
	}
	return nil
}

// all returns the uses that are measured.
func all(quick bool) []use {
	if quick {
		return append(memoryBound(1<<12), product(dtype.F32, 1, 64), product(dtype.BF16, 2, 16), launches(10))
	}
	uses := append(memoryBound(4<<20), memoryBound(256<<20)...)
	return append(uses, product(dtype.F32, 1, 1024), product(dtype.F32, 1, 4096), product(dtype.F64, 1, 2048), product(dtype.F16, 1, 4096),
		product(dtype.BF16, 1, 4096), product(dtype.BF16, 1, 8192), product(dtype.F32, 64, 512), launches(1000))
}
