package main

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/test/networks"
)

// accuracy is how far a loss may be from that of the workload.
const accuracy = 1e-5

// open loads a network on the CPUs.
func open(ctx context.Context, w *networks.Network, threads int) (*networks.Programs, error) {
	s, err := opgen.Open(catalogue.Register, opgen.Workers(threads))
	if err != nil {
		return nil, err
	}
	return w.Open(ctx, s)
}

// network measures a network, forward and a training step, and compares the losses of both sides with those of the workload.
func (b *bench) network(w *networks.Network) (_ row, err error) {
	ctx := context.Background()
	p, err := open(ctx, w, b.threads)
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	c := command{Do: "network", Network: w.Name}
	for name, t := range p.Tensors() {
		f := tensorFile{Name: name, File: filepath.Join(b.dir, name), Type: "f32", Shape: t.Shape}
		c.Tensors = append(c.Tensors, f)
		data, err := binary.Append(nil, binary.LittleEndian, t.Elements)
		if err != nil {
			return row{}, err
		}
		if err := os.WriteFile(f.File, data, 0o666); err != nil {
			return row{}, err
		}
	}
	if _, err := b.peer.ask(c); err != nil {
		return row{}, err
	}
	r := row{title: w.Title}
	longer := *b // a step takes longer than the budget
	longer.budget *= 10
	if r.both, err = longer.pair("both", func() error { return p.Step(ctx) }); err != nil {
		return row{}, err
	}
	if r.forward, err = longer.pair("forward", func() error { return p.Forward(ctx) }); err != nil {
		return row{}, err
	}
	a, err := b.peer.ask(command{Do: "losses"})
	return r, errors.Join(err, w.Check(p.Losses, accuracy), w.Check(a.Losses, accuracy))
}
