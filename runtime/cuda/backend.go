//go:build cuda

package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gorgonia.org/cu"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/internal/cudadriver"
	"github.com/opgen/opgen/runtime/target"
)

// Backend runs device code on GPUs, and Go kernels on the host.
type Backend struct {
	devices  []*device
	queues   int
	compiler *compiler
	blas     blas
	locates  bool // whether streams can leave how far they are
	one      bool // whether plans run as one kernel
	patience time.Duration
	stuck    atomic.Bool // whether a kernel does not end

	mu   sync.Mutex
	lost error // after which the devices do nothing
}

// New returns a backend. The error says why there is none, such as that the machine has no GPU.
func New(c Config) (engine.Backend, error) {
	b, err := open(c)
	if err != nil {
		return nil, fmt.Errorf("cuda: %w", err) // not a nil *Backend, which would be no nil engine.Backend
	}
	return b, nil
}

func open(c Config) (_ *Backend, err error) {
	if reason := cudadriver.Reason(); reason != "" {
		return nil, fmt.Errorf("there is no driver: %s", reason)
	}
	numbers, err := gpus()
	if err != nil {
		return nil, err
	}
	n := max(c.Devices, 1)
	if n > len(numbers) {
		return nil, fmt.Errorf("want %d devices, the machine has %d", n, len(numbers))
	}
	b := &Backend{queues: max(c.Queues, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	if b.compiler, err = findCompiler(); err != nil {
		return nil, err
	}
	if b.blas, err = findBLAS(); err != nil {
		return nil, err
	}
	for i := range n {
		d, err := openDevice(i, numbers[i], b.queues)
		if d != nil {
			b.devices = append(b.devices, d)
		}
		if err != nil {
			return nil, fmt.Errorf("device %d: %w", i, err)
		}
		if c.Library != nil {
			d.library = c.Library(i)
		}
	}
	b.locates = b.devices[0].locates()
	b.one = c.OneKernel || os.Getenv(kernelVariable) == "one"
	if b.patience, err = patience(c.Patience); err != nil {
		return nil, err
	}
	return b, nil
}

// patience returns how long blocks wait for a block that makes no progress.
func patience(given time.Duration) (time.Duration, error) {
	text := os.Getenv(patienceVariable)
	if given > 0 || text == "" {
		return cmp.Or(max(given, 0), time.Second), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s: want a duration above 0, such as 2s, got %q", patienceVariable, text)
	}
	return d, nil
}

// devicesVariable is the variable of the environment that holds the numbers of the GPUs that are devices,
// such as 0,1. With 0,0, one GPU is two devices, which tests of several devices need on a machine with one.
const devicesVariable = "OPGEN_CUDA_DEVICES"

// gpus returns the numbers of the GPUs that are devices.
func gpus() ([]int, error) {
	have, err := cu.NumDevices()
	if err != nil {
		return nil, cudadriver.Wrap("cuDeviceGetCount", err)
	}
	var numbers []int
	list := os.Getenv(devicesVariable)
	if list == "" {
		for i := range have {
			numbers = append(numbers, i)
		}
		return numbers, nil
	}
	for text := range strings.SplitSeq(list, ",") {
		i, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || i < 0 || i >= have {
			return nil, fmt.Errorf("%s: want numbers of GPUs, of which the machine has %d, got %q", devicesVariable, have, list)
		}
		numbers = append(numbers, i)
	}
	return numbers, nil
}

// Target returns the target of plans for NVIDIA GPUs. Kernels compute in the stored types. A task takes some
// microseconds to launch. The times of bytes and of signals are typical of current devices.
func (b *Backend) Target() target.Target {
	return target.Target{Name: gpu.CUDA, TaskTime: 4000, ByteTime: 0.001, Latency: 2000}
}

// Devices returns the number of devices.
func (b *Backend) Devices() int { return len(b.devices) }

// Workers returns the number of queues. Each has a stream on each device.
func (b *Backend) Workers() int { return b.queues }

var _ engine.Librarian = (*Backend)(nil)

// Library returns the library of a device, or nil.
func (b *Backend) Library(device int) any { return b.devices[device].library }

// Close closes the devices.
func (b *Backend) Close() error {
	if b.stuck.Load() { // closing the device would wait for the kernel
		b.devices = nil
		return nil
	}
	var errs []error
	for _, d := range b.devices {
		errs = append(errs, d.close())
	}
	b.devices = nil
	if b.lost != nil {
		return nil // which runs have reported
	}
	return errors.Join(errs...)
}

// working returns an error if the devices do nothing any more.
func (b *Backend) working() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}

// lose notes that a device does nothing any more, if that is so: all its calls fail from now on.
func (b *Backend) lose(d *device, err error) {
	if again := d.call("cuStreamSynchronize", d.transfer.Synchronize); again == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost == nil {
		b.lost = fmt.Errorf("the device does nothing after an error, so another backend is needed: %w", err)
	}
}
