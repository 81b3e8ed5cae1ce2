// Decode continues several texts at a time with the network that charlm trains if it has -groups: rotary
// positions, grouped attention and gated MLPs. A step is one plan, which runs token after token. Texts enter
// and leave the batch as data: each has a slot of the batch and pages of memory for the keys and values of
// its tokens. What is drawn for a text depends neither on what is beside it nor on the number of workers. A
// GPU rounds sums otherwise, so it may draw another token where two are nearly as likely.
//
// The last line of its output is "tokens=n steps=n occupied=p% seconds=s.s tokens/s=n".
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/examples/internal/engines"
	"github.com/opgen/opgen/examples/internal/opticks"
	"github.com/opgen/opgen/examples/internal/trainlog"
	"github.com/opgen/opgen/runtime/safetensors"
)

//go:embed data/opticks.safetensors
var shipped []byte

type options struct {
	load               string
	heads              int
	engine             string
	workers            int
	slots, pages, size int
	prompts            []string
	length             int
	temperature        float64
	tiles, times       bool
}

// prompts are those of a run without -prompt.
var prompts = []string{"The Rays of Light ", "Exper. 1. ", "In a very dark Chamber ", "Colours ", "Whence it ", "PROP. "}

func (o *options) register(f *flag.FlagSet) {
	f.StringVar(&o.load, "load", "", "read the weights that charlm -groups has saved from this `file`, in place of those that come with the program")
	f.IntVar(&o.heads, "heads", 4, "heads of attention of that network")
	f.StringVar(&o.engine, "engine", "cpu", "what runs the steps: cpu; cuda, a GPU; or auto, a GPU if there is one")
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "how many workers share the work")
	f.IntVar(&o.slots, "slots", 4, "how many texts are continued at a time")
	f.IntVar(&o.pages, "pages", 48, "how many pages of memory there are")
	f.IntVar(&o.size, "page-size", 16, "how many characters a page holds")
	f.Func("prompt", "a `text` to continue; the flag may be given several times", func(s string) error { o.prompts = append(o.prompts, s); return nil })
	f.IntVar(&o.length, "length", 72, "how many `characters` follow each text")
	f.Float64Var(&o.temperature, "temperature", 0.5, "how freely they are drawn: 1 as often as the network predicts, below 1 more likely ones, at 0 the most likely")
	f.BoolVar(&o.times, "times", false, "measure the time of each task")
	f.BoolVar(&o.tiles, "tiles", false, "cut tasks into tiles that wait only for the tiles whose elements they touch")
}

func (o *options) check() error {
	switch {
	case o.workers < 1 || o.slots < 1 || o.pages < 1 || o.size < 1 || o.length < 1:
		return errors.New("want -workers, -slots, -pages, -page-size and -length of at least 1")
	case !slices.Contains(engines.Names, o.engine):
		return fmt.Errorf("want -engine of %s", strings.Join(engines.Names, ", "))
	case !(o.temperature >= 0):
		return errors.New("want no negative -temperature")
	case slices.Contains(o.prompts, ""):
		return errors.New("want no empty -prompt")
	}
	return nil
}

func main() {
	var o options
	o.register(flag.CommandLine)
	flag.Parse()
	err := o.check()
	if flag.NArg() > 0 {
		err = fmt.Errorf("want no arguments but flags, got %q", flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "decode:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	out := &trainlog.Output{W: os.Stdout}
	if err := errors.Join(run(ctx, o, out), out.Err); err != nil {
		fmt.Fprintln(os.Stderr, "decode:", err)
		os.Exit(1)
	}
}

// run continues the texts and prints each of them when it ends.
func run(ctx context.Context, o options, w io.Writer) error {
	corpus, err := opticks.Load()
	if err != nil {
		return err
	}
	if o.prompts == nil {
		o.prompts = prompts
	}
	var requests []*request
	for i, p := range o.prompts {
		tokens, err := corpus.Encode(p)
		if err != nil {
			return fmt.Errorf("prompt %q: %w", p, err)
		}
		requests = append(requests, &request{number: i, prompt: tokens, length: o.length})
	}
	data := shipped
	if o.load != "" {
		if data, err = os.ReadFile(o.load); err != nil {
			return err
		}
	}
	weights, err := safetensors.Decode(data)
	if err != nil {
		return err
	}
	return decode(ctx, o, weights, requests, w, func(r *request) {
		fmt.Fprintf(w, "%s|%s\n\n", o.prompts[r.number], corpus.Decode(r.out))
	})
}

// decode continues the requests in their slots, and calls done with each that has ended.
func decode(ctx context.Context, o options, weights *safetensors.File, requests []*request, w io.Writer, done func(*request)) (err error) {
	sizes, err := sizesOf(weights, o.heads)
	if err != nil {
		return err
	}
	schedule, err := newSchedule(o.slots, o.pages, o.size, requests)
	if err != nil {
		return err
	}
	register, opts, err := engines.Choose(o.engine, o.workers, 1)
	if err != nil {
		return err
	}
	if opts = append(opts, opgen.Fuse()); o.tiles {
		opts = append(opts, opgen.Tiled())
	}
	if o.times {
		opts = append(opts, opgen.Profile())
	}
	session, err := opgen.Open(register, opts...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	n := newNetwork(sizes, o.slots, schedule.columns, o.pages, o.size)
	p, err := session.Inference(ctx, n.graph, n.drawn)
	if err != nil {
		return err
	}
	if err := load(session, weights); err != nil {
		return err
	}
	temperature := slices.Repeat([]float32{float32(o.temperature)}, o.slots)
	steps, busy, tokens, start := 0, 0, 0, time.Now()
	for {
		in, ok := schedule.next()
		if !ok {
			break
		}
		drawn, err := n.run(ctx, p, in, temperature)
		if err != nil {
			return err
		}
		steps++
		for _, at := range in.position {
			if at >= 0 {
				busy++
			}
		}
		for _, r := range schedule.took(drawn) {
			tokens += len(r.out)
			done(r)
		}
	}
	seconds := time.Since(start).Seconds()
	if o.times {
		trainlog.WriteTimes(w, p.Timings())
	}
	fmt.Fprintf(w, "tokens=%d steps=%d occupied=%.0f%% seconds=%.1f tokens/s=%.0f\n", tokens, steps, 100*float64(busy)/float64(max(steps*o.slots, 1)), seconds, float64(tokens)/seconds)
	return nil
}
