package opgen

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/mpi"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/project"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/ranks"
)

// Ranks makes the session one of several ranks, which run programs together: sessions of several processes,
// or of one. The transport carries their messages, and belongs to the session then. All ranks open a session
// with the same options, and load and run the same programs in the same order. Each makes the same plan of a
// program for all devices, compares it with those of the other ranks, and runs the tasks of its own devices:
// device d of n is on rank d*ranks/n. Option Devices gives their number, so results have the same bits for
// any number of ranks, also for one.
//
// Values for inputs on other ranks are ignored, so ranks may give all values or only their own. Fetched
// tensors are on all ranks after a run, and variables on the rank of their device.
//
// An error on one rank ends the session on all ranks, with the message of that rank. Ranks run on the CPUs of
// their machines.
func Ranks(t ranks.Transport) Option {
	return func(o *options) { o.ranks = func() (ranks.Transport, error) { return t, nil } }
}

// MPI makes the session a rank of MPI, as Ranks says: mpiexec, or a scheduler, starts a process for each. The
// program is built with the tag mpi; without it, Open returns an error that says what is missing. A process
// opens one such session.
func MPI(c mpi.Config) Option {
	return func(o *options) { o.ranks = func() (ranks.Transport, error) { return mpi.Open(c) } }
}

// Rank returns the number of the session among the ranks of its programs, from 0 on, and how many there are.
// By itself it is rank 0 of 1.
func (s *Session) Rank() (rank, ranks int) {
	if s == nil || s.ranks == nil {
		return 0, 1
	}
	return s.ranks.Rank(), s.ranks.Ranks()
}

// ranked is what a session of several ranks has besides. A nil one stands for a session by itself.
type ranked struct {
	*ranks.Link
	owner   []int // per device of all ranks: its rank
	workers []int // per rank
	mine    int   // how many devices this rank has
	// written holds the variables on other ranks that have values.
	written map[string]bool
}

// open starts the link to other ranks, if there are any, and tells them what this rank is. It sets options
// that depend on the ranks.
func (o *options) open() (*ranked, error) {
	if o.ranks == nil {
		return nil, nil
	}
	if o.backend != nil {
		return nil, errors.New("opgen: want ranks that run programs on the CPUs of their machines, got another backend")
	}
	t, err := o.ranks()
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, errors.New("opgen: want a transport between ranks, got nil")
	}
	r := &ranked{Link: ranks.NewLink(t), written: map[string]bool{}}
	if o.devices == 0 {
		o.devices = t.Ranks()
	}
	if o.workers <= 0 {
		o.workers = runtime.GOMAXPROCS(0)
	}
	if err := r.meet(o.devices, o.workers); err != nil {
		return nil, errors.Join(r.fail(fmt.Errorf("opgen: %w", err)), t.Close())
	}
	return r, nil
}

// meet exchanges the numbers of workers, and checks that all ranks want as many devices.
func (r *ranked) meet(devices, workers int) (err error) {
	mine := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(devices)), uint64(workers))
	all, err := r.Exchange(mine)
	if err != nil {
		return err
	}
	for rank, of := range all {
		if got := binary.LittleEndian.Uint64(of); got != uint64(devices) {
			return fmt.Errorf("want %d devices of all ranks together, as on rank %d, got %d on rank %d", devices, r.Rank(), got, rank)
		}
		r.workers = append(r.workers, int(binary.LittleEndian.Uint64(of[8:])))
	}
	if r.owner, err = project.Owners(devices, r.Ranks()); err != nil {
		return err
	}
	for _, rank := range r.owner {
		if rank == r.Rank() {
			r.mine++
		}
	}
	return nil
}

// part returns what this rank runs of a plan: the plan, for a session by itself. It proves the parts of all
// ranks, and compares them with those that the other ranks have made.
func (r *ranked) part(p *plan.Plan, opts []planner.Option) (*plan.Plan, error) {
	if r == nil {
		return p, nil
	}
	parts, err := project.Ranks(p, r.owner, r.workers, opts...)
	if err != nil {
		return nil, err
	}
	if err := verify.Ranks(p, r.owner, parts); err != nil {
		return nil, err
	}
	digest := sha256.New()
	for _, part := range parts {
		data, err := part.Plan.EncodeBinary()
		if err != nil {
			return nil, err
		}
		digest.Write(data)
	}
	if err := r.Agree("program "+p.Name, [32]byte(digest.Sum(nil))); err != nil {
		return nil, err
	}
	return parts[r.Rank()].Plan, nil
}

// elsewhere reports whether a device is on another rank.
func (r *ranked) elsewhere(device int) bool {
	return r != nil && device < len(r.owner) && r.owner[device] != r.Rank()
}

// note notes that a variable has values, if it is on another rank.
func (r *ranked) note(v graph.Tensor) {
	if r.elsewhere(v.Device()) {
		r.written[v.Name()] = true
	}
}

// run runs an instance. Where the context ends while the instance waits for other ranks, all ranks end.
func (s *Session) run(ctx context.Context, in *engine.Instance) error {
	if s.ranks == nil || ctx == nil {
		return in.Run(ctx)
	}
	stop := context.AfterFunc(ctx, func() { s.ranks.Abort(context.Cause(ctx).Error()) })
	defer stop()
	err := in.Run(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// bytes returns the elements of a variable, as get does on its rank. On other ranks than that and rank 0,
// there are none.
func (r *ranked) bytes(v graph.Tensor, get func(name string) ([]byte, error)) ([]byte, error) {
	if r == nil || r.owner[v.Device()] == 0 && r.Rank() == 0 {
		return get(v.Name())
	}
	switch from := r.owner[v.Device()]; {
	case from == 0:
		return nil, nil
	case from == r.Rank():
		data, err := get(v.Name())
		if err != nil {
			return nil, err
		}
		return data, r.Send(0, data).Wait()
	case r.Rank() == 0:
		data := make([]byte, v.Operand().Bytes())
		return data, r.Receive(from, data).Wait()
	}
	return nil, nil
}

// write calls a function that writes files on rank 0 alone. All ranks get its error.
func (r *ranked) write(f func() error) error {
	if r == nil {
		return f()
	}
	if r.Rank() == 0 {
		if err := f(); err != nil {
			return r.Fail(err)
		}
	}
	_, err := r.Exchange([]byte{1})
	return r.Fail(err)
}

// same returns an error unless all ranks come with the same number.
func (r *ranked) same(what string, n int) error {
	if r == nil {
		return nil
	}
	all, err := r.Exchange(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	for rank, of := range all {
		if other := binary.LittleEndian.Uint64(of); other != uint64(n) {
			return fmt.Errorf("want %s the same on all ranks, got %d on rank %d and %d on rank %d", what, n, r.Rank(), other, rank)
		}
	}
	return err
}

// fail ends what all ranks do if there is an error, which it returns.
func (r *ranked) fail(err error) error {
	if r == nil {
		return err
	}
	return r.Fail(err)
}

// close ends the use of the transport.
func (r *ranked) close() error {
	if r == nil {
		return nil
	}
	return r.Close()
}
