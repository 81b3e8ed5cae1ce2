package profile_test

import (
	"context"
	"fmt"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/profile"
)

// A recorder observes a session. It leaves out the first runs and keeps some later ones.
func Example() {
	recorder := profile.New(profile.Config{Warmup: 1, Runs: 2})
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g := graph.New(1)
		x := g.Input("x", dtype.F32, 4, 2)
		y := linear.Apply(g, linear.Defaults(3).WithUseBias(false), x, graph.Named("hidden"))
		p, err := s.Inference(context.Background(), g, y)
		if err != nil {
			return err
		}
		for range 4 {
			if err := p.Run(context.Background(), opgen.With(x, make([]float32, 8))); err != nil {
				return err
			}
		}
		for _, t := range recorder.Tasks(p.Plan()) {
			fmt.Println(t.Label, t.Elapsed.Runs)
		}
		return nil
	}, opgen.Workers(1), opgen.Observe(recorder))
	if err != nil {
		fmt.Println(err)
	}
	// Output: hidden: linear.forward 2
}

// Summarize gives the mean and the spread of times that a program measured itself.
func ExampleSummarize() {
	t := profile.Summarize([]time.Duration{2 * time.Millisecond, 4 * time.Millisecond, 6 * time.Millisecond})
	fmt.Println(t.Runs, t.Mean, t.Shortest, t.Longest)
	// Output: 3 4ms 2ms 6ms
}
