//go:build cuda

package main

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"gorgonia.org/cu"

	"github.com/opgen/opgen/runtime/cuda"
)

// device is what is known of the first GPU.
type device struct {
	Name   string `json:"name"`
	Arch   string `json:"arch"`
	Memory int64  `json:"memory"` // bytes
	Driver int    `json:"driver"` // 1000 times the version of CUDA that the driver has, and 10 times what follows the point
}

func describe() (d device, err error) {
	b, err := cuda.New(cuda.Config{}) // whose errors say what a machine lacks
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	dev, err := cu.GetDevice(0)
	if err != nil {
		return d, fmt.Errorf("cuDeviceGet: %w", err)
	}
	if d.Name, err = dev.Name(); err != nil {
		return d, fmt.Errorf("cuDeviceGetName: %w", err)
	}
	if d.Memory, err = dev.TotalMem(); err != nil {
		return d, fmt.Errorf("cuDeviceTotalMem: %w", err)
	}
	var version [2]int
	for i, a := range []cu.DeviceAttribute{cu.ComputeCapabilityMajor, cu.ComputeCapabilityMinor} {
		if version[i], err = dev.Attribute(a); err != nil {
			return d, fmt.Errorf("cuDeviceGetAttribute: %w", err)
		}
	}
	d.Arch, d.Driver = fmt.Sprintf("sm_%d%d", version[0], version[1]), cu.Version()
	return d, nil
}

// copies is how many copies the time of one is taken from.
const copies = 10

// copy measures copies of so many bytes from a place of a device to another, which read and write as many.
func (m *meter) copy(bytes int64) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dev, err := cu.GetDevice(0)
	if err != nil {
		return fmt.Errorf("cuDeviceGet: %w", err)
	}
	c, err := dev.MakeContext(cu.SchedAuto)
	if err != nil {
		return fmt.Errorf("cuCtxCreate: %w", err)
	}
	defer func() { err = errors.Join(err, c.Destroy()) }()
	s, err := cu.MakeStream(cu.NonBlocking)
	if err != nil {
		return fmt.Errorf("cuStreamCreate: %w", err)
	}
	at, err := cu.MemAlloc(2 * bytes)
	if err != nil {
		return fmt.Errorf("cuMemAlloc: %w", err)
	}
	if err := cu.MemsetD8Async(at, 0x5a, 2*bytes, s); err != nil {
		return fmt.Errorf("cuMemsetD8Async: %w", err)
	}
	seconds, err := m.median(func() error {
		for range copies {
			if err := cu.MemcpyDtoDAsync(at+cu.DevicePtr(bytes), at, bytes, s); err != nil {
				return fmt.Errorf("cuMemcpyDtoDAsync: %w", err)
			}
		}
		return s.Synchronize()
	})
	if err != nil {
		return err
	}
	return m.out.Encode(figure{"copy", fmt.Sprintf("copy of %s bytes", elements(int(bytes))) + m.suffix, seconds / copies, 2 * float64(bytes), 0})
}

func sqrt(n int) float64 { return math.Sqrt(float64(n)) }
