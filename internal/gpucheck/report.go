package main

import (
	"fmt"
	"strings"
	"time"
)

// text is the report, in Markdown.
func (c *check) text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "# Check of the CUDA backend\n\n")
	if c.emulator != "" {
		fmt.Fprintf(&s, "This ran on the emulator, so its times mean nothing.\n\n")
	}
	fmt.Fprintf(&s, "Device: %s (%s). Host: %s. Time: %s.\n\n", orElse(c.device.Name, "none"), orElse(c.device.Arch, "none"), host(), time.Now().UTC().Format(time.RFC3339))
	fmt.Fprintf(&s, "| step | result | seconds | note |\n| --- | --- | ---: | --- |\n")
	for _, r := range c.results {
		fmt.Fprintf(&s, "| %s | %s | %.1f | %s |\n", r.step, r.state, r.took.Seconds(), cell(firstLine(r.note)))
	}
	c.table(&s)
	for _, r := range c.results {
		if r.state == failed {
			fmt.Fprintf(&s, "\n## %s\n\n```\n%s\n```\n", r.step, r.note)
		}
	}
	return s.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

// table writes the figures beside those of PyTorch. The rate of what is bound by memory is given as a share
// of that of a copy.
func (c *check) table(s *strings.Builder) {
	if len(c.figures) == 0 {
		return
	}
	peers := map[string]float64{}
	for _, f := range c.torch {
		peers[f.Name] = f.Seconds
	}
	copied := 0.0
	fmt.Fprintf(s, "\n| use | µs | rate | share of a copy | PyTorch, µs | times PyTorch | its CUDA graph, µs | times its graph |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, f := range c.figures {
		if f.Group == "copy" {
			copied = f.Bytes / f.Seconds
		}
		rate, share := "", ""
		switch {
		case f.Bytes > 0:
			rate = fmt.Sprintf("%.0f GB/s", f.Bytes/f.Seconds/1e9)
			if copied > 0 {
				share = fmt.Sprintf("%.0f %%", 100*f.Bytes/f.Seconds/copied)
			}
		case f.Flops > 0:
			rate = fmt.Sprintf("%.2f TFLOP/s", f.Flops/f.Seconds/1e12)
		}
		of, _, _ := strings.Cut(f.Name, ",") // the use, without how it was run
		fmt.Fprintf(s, "| %s | %.1f | %s | %s |", cell(f.Name), f.Seconds*1e6, rate, share)
		for _, name := range []string{of, of + ", CUDA graph"} {
			if p := peers[name]; p > 0 {
				fmt.Fprintf(s, " %.1f | %.2f |", p*1e6, f.Seconds/p)
			} else {
				fmt.Fprint(s, " | |")
			}
		}
		fmt.Fprintln(s)
	}
	fmt.Fprintf(s, "\nOperators on 4M elements read and write what the second-level cache of large GPUs holds, so they may be faster than a copy.\n")
}
