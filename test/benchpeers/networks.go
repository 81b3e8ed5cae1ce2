package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/cpu"

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

// network measures a network, forward and a training step, and compares the losses of both sides with those
// of the workload.
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
	if r.memory, err = b.memory(w, c); err != nil {
		return row{}, err
	}
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

// memorySteps is how many steps a process runs whose memory is measured.
const memorySteps = 5

// memory returns the most memory, in bytes, that a process has in use that does nothing but train a network,
// here and with PyTorch. Both are 0 if the system does not tell.
func (b *bench) memory(w *networks.Network, c command) (f figure, err error) {
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	own := exec.Command(self, "-train", w.Name, "-threads", fmt.Sprint(b.threads))
	own.Stderr = os.Stderr
	out, err := own.Output()
	if err == nil {
		_, err = fmt.Sscan(string(out), &f.own)
	}
	if err != nil {
		return f, fmt.Errorf("%v: %w", own, err)
	}
	p, err := start(b.python, b.threads, b.dir, cpu.X86.HasAVX512F)
	if err != nil {
		return f, err
	}
	_, err = p.ask(c)
	for range memorySteps {
		if err == nil {
			_, err = p.ask(command{Do: "both"})
		}
	}
	var a answer
	if err == nil {
		a, err = p.ask(command{Do: "memory"})
	}
	f.peer = a.Peak
	return f, errors.Join(err, p.stop())
}

// peak returns the most memory, in bytes, that the process had in use, or 0 if the system does not tell. The
// usage of resources that a parent gets would not do: it begins with the memory of the parent.
func peak() (bytes int) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	if _, text, ok := strings.Cut(string(status), "VmHWM:"); ok {
		if _, err := fmt.Sscan(text, &bytes); err != nil {
			return 0
		}
	}
	return bytes << 10
}

// train runs some steps of a network, and prints how much memory that took. The losses have to be those of
// the workload.
func train(ctx context.Context, w io.Writer, name string, threads int) (err error) {
	i := slices.IndexFunc(networks.All, func(w networks.Network) bool { return w.Name == name })
	if i < 0 {
		return fmt.Errorf("there is no network %q", name)
	}
	p, err := open(ctx, &networks.All[i], threads)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	for step := range memorySteps {
		if err := p.Step(ctx); err != nil {
			return err
		}
		if step == 0 {
			p.Drop()
		}
	}
	if err := networks.All[i].Check(p.Losses, accuracy); err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, peak())
	return err
}
