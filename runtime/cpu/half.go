package cpu

import "github.com/opgen/opgen/runtime/op"

// half is a tensor whose elements are stored in 16 bits.
type half struct {
	data  []uint16
	bits  func(float32) uint16
	value func(uint16) float32
}

type fillHalf struct {
	to   half
	bits uint16
}

func (f fillHalf) Run(_ *op.Ctx, r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		f.to.data[i] = f.bits
	}
	return nil
}

type toHalf struct {
	to   half
	from []float32
}

func (c toHalf) Run(_ *op.Ctx, r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		c.to.data[i] = c.to.bits(c.from[i])
	}
	return nil
}

type fromHalf struct {
	to    []float32
	from  []uint16
	value func(uint16) float32
}

func (c fromHalf) Run(_ *op.Ctx, r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		c.to[i] = c.value(c.from[i])
	}
	return nil
}

// addToHalf adds, in 32 bits, what a kernel computed to what is stored in 16.
type addToHalf struct {
	to   half
	from []float32
}

func (a addToHalf) Run(_ *op.Ctx, r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.to.data[i] = a.to.bits(a.to.value(a.to.data[i]) + a.from[i])
	}
	return nil
}

type addHalf struct {
	to   half
	from []uint16
}

func (a addHalf) Run(_ *op.Ctx, r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		a.to.data[i] = a.to.bits(a.to.value(a.to.data[i]) + a.to.value(a.from[i]))
	}
	return nil
}
