// Package loader delivers the batches of a training: in an order that a seed decides, from any step on, and
// prepared ahead.
//
// The order depends on the seed, the number of samples and the size of batches only. So a training that goes
// on from a checkpoint sees the batches that it would have seen without an interruption.
package loader

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
)

// Config says which batches a Loader delivers.
type Config struct {
	// Samples is the number of samples. Batch is the number of samples of a batch.
	Samples, Batch int
	// Epochs is how often each sample is delivered.
	Epochs int
	// Seed decides the order of samples. InOrder keeps the order of their numbers in every epoch.
	Seed    uint64
	InOrder bool
	// DropLast leaves out the last batch of an epoch if it is smaller than the others.
	DropLast bool
	// Ahead is how many batches are read before they are wanted, at the same time; 0 reads each when it is
	// wanted.
	Ahead int
}

// Loader delivers batches of type B.
type Loader[B any] struct {
	config Config
	read   func(ctx context.Context, samples []int) (B, error)
}

// Batch is a batch with its place in the training.
type Batch[B any] struct {
	// Step numbers the batches of the training from 0, Epoch the epochs, and InEpoch the batches of the
	// epoch.
	Step, Epoch, InEpoch int
	// Samples holds the numbers of the samples. They lie below Config.Samples.
	Samples []int
	// Data is the result of the function that reads samples.
	Data B
}

// New returns a loader. It calls read with the numbers of the samples of a batch, from several goroutines at
// a time if Ahead is more than 1. read must not keep or change the numbers.
func New[B any](c Config, read func(ctx context.Context, samples []int) (B, error)) (*Loader[B], error) {
	switch {
	case c.Samples < 1:
		return nil, fmt.Errorf("loader: want samples, got %d", c.Samples)
	case c.Batch < 1 || c.DropLast && c.Batch > c.Samples:
		return nil, fmt.Errorf("loader: want batches of 1 to %d samples, got %d", c.Samples, c.Batch)
	case c.Epochs < 0 || c.Ahead < 0:
		return nil, fmt.Errorf("loader: want at least 0 epochs and batches ahead, got %d and %d", c.Epochs, c.Ahead)
	case read == nil:
		return nil, errors.New("loader: want a function that reads samples, got none")
	}
	return &Loader[B]{c, read}, nil
}

// StepsPerEpoch returns the number of batches of an epoch.
func (l *Loader[B]) StepsPerEpoch() int {
	if l.config.DropLast {
		return l.config.Samples / l.config.Batch
	}
	return (l.config.Samples + l.config.Batch - 1) / l.config.Batch
}

// Steps returns the number of batches of the training.
func (l *Loader[B]) Steps() int { return l.config.Epochs * l.StepsPerEpoch() }

// From delivers the batches of the training from a step on. It ends with the first error: that of reading,
// which says the step, or that of the context.
func (l *Loader[B]) From(ctx context.Context, step int) iter.Seq2[Batch[B], error] {
	return func(yield func(Batch[B], error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		next, stop := iter.Pull(l.places(step))
		defer stop()
		var ahead []chan result[B] // of the batches that are being read, in order
		for {
			for len(ahead) <= l.config.Ahead {
				b, ok := next()
				if !ok {
					break
				}
				c := make(chan result[B], 1)
				ahead = append(ahead, c)
				go func() {
					var err error
					if b.Data, err = l.read(ctx, b.Samples); err != nil {
						err = fmt.Errorf("the batch of step %d: %w", b.Step, err)
					}
					c <- result[B]{b, err}
				}()
			}
			if len(ahead) == 0 {
				return
			}
			var r result[B]
			select {
			case r = <-ahead[0]:
			case <-ctx.Done():
			}
			if err := ctx.Err(); err != nil {
				r.err = err // also if the batch is there, so that it does not depend on chance
			}
			ahead = ahead[1:]
			if !yield(r.batch, r.err) || r.err != nil {
				return
			}
		}
	}
}

type result[B any] struct {
	batch Batch[B]
	err   error
}

// places returns the batches from a step on, without their data.
func (l *Loader[B]) places(step int) iter.Seq[Batch[B]] {
	return func(yield func(Batch[B]) bool) {
		steps, order := l.StepsPerEpoch(), rand.New(rand.NewPCG(l.config.Seed, 2))
		for epoch := range l.config.Epochs {
			samples := l.order(order) // also of epochs before the step, since the generator goes on from them
			for i := max(step-epoch*steps, 0); i < steps; i++ {
				lo := i * l.config.Batch
				b := Batch[B]{Step: epoch*steps + i, Epoch: epoch, InEpoch: i, Samples: samples[lo:min(lo+l.config.Batch, len(samples))]}
				if !yield(b) {
					return
				}
			}
		}
	}
}

// order returns the order of the samples in the next epoch.
func (l *Loader[B]) order(r *rand.Rand) []int {
	if !l.config.InOrder {
		return r.Perm(l.config.Samples)
	}
	out := make([]int, l.config.Samples)
	for i := range out {
		out[i] = i
	}
	return out
}
