package memplan_test

import "github.com/opgen/opgen/internal/base/memplan"

// tape records a training step: the tensors of a network, and which steps touch each. Layers append
// their forward step at once, and keep their backward step for later. What a step writes or reads is
// needed at that step, so a tensor lives from the step that writes it to the last that reads it.
// Weights are not recorded, as they live forever; gradients of weights are.
type tape struct {
	steps    int
	tensors  []*value
	backward []func()
	weights  []*value // their gradients, once there
	eager    bool     // whether a weight is updated as soon as its gradient is there, or at the end
}

// value is a tensor of 4-byte elements.
type value struct {
	elems       int
	first, last int
	grad        *value
}

func (t *tape) tensor(elems int) *value {
	v := &value{elems: elems, first: -1}
	t.tensors = append(t.tensors, v)
	return v
}

// step records a step that touches some tensors.
func (t *tape) step(touched ...*value) {
	for _, v := range touched {
		if v.first < 0 {
			v.first = t.steps
		}
		v.last = t.steps
	}
	t.steps++
}

// gradOf returns the gradient of a tensor. Every further contribution is added to the first in place.
func (t *tape) gradOf(v *value) *value {
	if v.grad == nil {
		v.grad = t.tensor(v.elems)
	}
	return v.grad
}

// weight returns the gradient of a weight, which backward's step computes.
func (t *tape) weight(elems int) *value {
	g := t.tensor(elems)
	if !t.eager {
		t.weights = append(t.weights, g)
	}
	return g
}

func (t *tape) updated(grads ...*value) {
	if t.eager {
		for _, g := range grads {
			t.step(g)
		}
	}
}

// layer is a layer with weights: forward reads x and writes the result and what it keeps, backward
// reads the gradient of the result, x if needed, and what was kept. The gradients of x and of the weights
// are computed by steps of their own, that of x last, as usual.
func (t *tape) layer(x *value, elems int, needsX bool, kept []int, weights ...int) *value {
	y := t.tensor(elems)
	touched := []*value{x, y}
	var keep []*value
	for _, n := range kept {
		keep = append(keep, t.tensor(n))
	}
	t.step(append(touched, keep...)...)
	t.backward = append(t.backward, func() {
		read := append([]*value{t.gradOf(y)}, keep...)
		if needsX {
			read = append(read, x)
		}
		var grads []*value
		for _, n := range weights {
			grads = append(grads, t.weight(n))
		}
		if len(grads) > 0 {
			t.step(append(grads, read...)...)
			t.updated(grads...)
		}
		if x.first > 0 || len(weights) == 0 { // the gradient of the network's input is unused
			t.step(append([]*value{t.gradOf(x)}, read...)...)
		}
	})
	return y
}

// relu works in place: its result and its gradient lie where its operand and its gradient lay, and
// backward reads the result.
func (t *tape) relu(x *value) *value {
	t.step(x)
	t.backward = append(t.backward, func() { t.step(x, t.gradOf(x)) })
	return x
}

func (t *tape) add(a, b *value) *value {
	y := t.tensor(a.elems)
	t.step(a, b, y)
	t.backward = append(t.backward, func() {
		t.step(t.gradOf(y), t.gradOf(a))
		t.step(t.gradOf(y), t.gradOf(b))
	})
	return y
}

// product is a matrix product of two activations, both of which backward reads.
func (t *tape) product(a, b *value, elems int) *value {
	y := t.tensor(elems)
	t.step(a, b, y)
	t.backward = append(t.backward, func() {
		t.step(t.gradOf(y), b, t.gradOf(a))
		t.step(t.gradOf(y), a, t.gradOf(b))
	})
	return y
}

// finish ends forward with a loss over x, runs backward and the updates.
func (t *tape) finish(x *value) []memplan.Buffer {
	loss := t.tensor(1)
	probabilities := t.tensor(x.elems)
	t.step(x, probabilities, loss)
	t.step(loss, probabilities, t.gradOf(x))
	for i := len(t.backward) - 1; i >= 0; i-- {
		t.backward[i]()
	}
	for _, w := range t.weights {
		t.step(w)
	}
	var out []memplan.Buffer
	for _, v := range t.tensors {
		out = append(out, memplan.Buffer{Bytes: (int64(v.elems)*4 + 63) / 64 * 64, First: v.first, Last: v.last})
	}
	return out
}

// resnet50 returns the buffers of a training step of ResNet-50 (He and others, 2015, with the stride in the 3
// x 3 convolution) on images of 224 x 224: 53 convolutions without bias, each followed by a batch
// normalization, which keeps mean and deviation of each channel; in-place rectifiers; 16 residual additions.
func resnet50(batch int, eager bool) []memplan.Buffer {
	t := &tape{eager: eager}
	image := t.tensor(batch * 3 * 224 * 224)
	t.step(image)
	size := 224
	convolution := func(x *value, in, out, kernel, stride int) *value {
		side := size / stride
		n := batch * out * side * side
		y := t.layer(x, n, true, nil, out*in*kernel*kernel)
		return t.layer(y, n, true, []int{out, out}, out, out)
	}
	x := t.relu(convolution(image, 3, 64, 7, 2))
	size = 56
	x = t.layer(x, batch*64*size*size, false, []int{batch * 64 * size * size}) // maxima of 3 x 3, and where they are
	channels := 64
	for stage, blocks := range []int{3, 4, 6, 3} {
		width := 64 << stage
		for block := range blocks {
			stride := 1
			if block == 0 && stage > 0 {
				stride = 2
			}
			skip := x
			y := t.relu(convolution(x, channels, width, 1, 1))
			y = t.relu(convolution(y, width, width, 3, stride))
			in := size
			size /= stride
			y = convolution(y, width, 4*width, 1, 1)
			if block == 0 {
				size = in
				skip = convolution(x, channels, 4*width, 1, stride)
				size = in / stride
			}
			x = t.relu(t.add(y, skip))
			channels = 4 * width
		}
	}
	x = t.layer(x, batch*channels, false, nil) // mean of each channel
	return t.finish(t.layer(x, batch*1000, true, nil, 1000*channels, 1000))
}

// transformer returns the buffers of a training step of an encoder of 12 post-norm layers of width 512 and
// 8 heads, feeding forward through 2048, on batches of 8 sequences of 128.
func transformer(layers int, eager bool) []memplan.Buffer {
	const batch, length, width, heads, inner = 8, 128, 512, 8, 2048
	const rows = batch * length
	t := &tape{eager: eager}
	x := t.tensor(rows * width)
	t.step(x)
	dense := func(x *value, in, out int) *value { return t.layer(x, rows*out, true, nil, in*out, out) }
	norm := func(x *value) *value { return t.layer(x, rows*width, true, []int{rows, rows}, width, width) }
	// split copies a third of the joint projection to an operand of its own.
	split := func(x *value) *value {
		y := t.tensor(rows * width)
		t.step(x, y)
		t.backward = append(t.backward, func() { t.step(t.gradOf(y), t.gradOf(x)) })
		return y
	}
	for range layers {
		joint := dense(x, width, 3*width)
		q, k, v := split(joint), split(joint), split(joint)
		scores := t.product(q, k, batch*heads*length*length)
		// Softmax keeps its result, which the product with v keeps anyway.
		p := t.tensor(scores.elems)
		t.step(scores, p)
		t.backward = append(t.backward, func() { t.step(t.gradOf(p), p, t.gradOf(scores)) })
		mixed := t.product(p, v, rows*width)
		y := norm(t.add(x, dense(mixed, width, width)))
		hidden := dense(y, width, inner)
		active := t.layer(hidden, rows*inner, true, nil)
		x = norm(t.add(y, dense(active, inner, width)))
	}
	return t.finish(x)
}

// network is a training step. The first four are those whose layouts are checked; the last shows how the time
// grows.
type network struct {
	name    string
	buffers []memplan.Buffer
}

func networks() []network {
	return []network{
		{"resnet50", resnet50(32, false)},
		{"resnet50-eager", resnet50(32, true)},
		{"transformer12", transformer(12, false)},
		{"transformer12-eager", transformer(12, true)},
		{"transformer100", transformer(100, false)},
	}
}
