package kernels

import (
	"fmt"
	"math"

	"github.com/opgen/opgen/generated/roialign"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// RoiAlign is the kernel of roi_align.
type RoiAlign[T dtype.Float, L dtype.Index] struct{}

// Forward samples some boxes. It finds the places of a part once for all channels.
func (RoiAlign[T, L]) Forward(ctx *op.Ctx, a *roialign.Forward[T, L], r op.Range) error {
	d, attrs := a.Dims, a.Attrs
	out, image := attrs.Height*attrs.Width, d.H*d.W
	var places []sample[T]
	for box := r.Lo; box < r.Hi; box++ {
		of := int(a.Image.At(box))
		if of < 0 || of >= d.N {
			return &op.Error{Operator: "roi_align", Task: "forward", Slot: "image", Want: fmt.Sprintf("an image below %d", d.N), Got: fmt.Sprint(of)}
		}
		ys, rows := sidesOf(a, box, 1, attrs.Height, d.H)
		xs, columns := sidesOf(a, box, 0, attrs.Width, d.W)
		for part := range out {
			if ctx.Stopped() {
				return nil
			}
			places = places[:0]
			for _, y := range ys[part/attrs.Width] {
				for _, x := range xs[part%attrs.Width] {
					places = append(places, sampleOf(x, y, d.W))
				}
			}
			for c := range d.C {
				channel := a.Input.Span((of*d.C+c)*image, (of*d.C+c+1)*image)
				a.Output.Set((box*d.C+c)*out+part, joined(channel.At, places, rows*columns, attrs.Mode == roialign.ModeMax))
			}
		}
	}
	return nil
}

// side is the place of a sample along a side of the image: two neighbors and their shares.
type side[T dtype.Float] struct {
	at    [2]int
	share [2]T
}

// sidesOf returns the places of the samples inside of the image in each part along a side of a box, and the
// number of all samples of a part. A sample is at most an element apart from the next one, or samples says
// how many there are, so a huge box has no more places than a large one.
func sidesOf[T dtype.Float, L dtype.Index](a *roialign.Forward[T, L], box, axis, parts, extent int) (places [][]side[T], n int) {
	scale, shift := T(a.Attrs.Scale), T(0)
	if a.Attrs.Centers {
		shift = 0.5
	}
	lo, hi := a.Boxes.At(4*box+axis)*scale-shift, a.Boxes.At(4*box+2+axis)*scale-shift
	long := hi - lo
	if !a.Attrs.Centers {
		long = max(long, 1)
	}
	step := long / T(parts)
	if n = a.Attrs.Samples; n == 0 && step > 0 { // NaN and infinities have no integer
		n = int(min(math.Ceil(float64(step)), maxSamples))
	}
	places = make([][]side[T], parts)
	for p := range places {
		for i := range n {
			x := lo + T(T(p)*step) + T((T(i)+0.5)*step)/T(n)
			if x >= -1 && x <= T(extent) && extent > 0 {
				x = min(max(x, 0), T(extent-1))
				first := int(x)
				places[p] = append(places[p], side[T]{[2]int{first, min(first+1, extent-1)}, [2]T{T(first+1) - x, x - T(first)}})
			}
		}
	}
	return places, n
}

// maxSamples bounds how many samples of a part stand along a side where its length decides.
const maxSamples = 1 << 12

// sample is four elements of an image and their shares.
type sample[T dtype.Float] struct {
	at    [4]int
	share [4]T
}

func sampleOf[T dtype.Float](x, y side[T], width int) (s sample[T]) {
	for k := range 4 {
		s.at[k], s.share[k] = y.at[k/2]*width+x.at[k%2], y.share[k/2]*x.share[k%2]
	}
	return s
}

// joined returns the mean of samples, or the greatest share of an element in them. Those of all samples that
// have no place are outside of the image and count as 0, whatever the image holds. Without samples it is 0.
func joined[T dtype.Float](at func(int) T, places []sample[T], all int, most bool) (out T) {
	if most && len(places) == all {
		out = T(math.Inf(-1))
	}
	for _, s := range places {
		for k := range 4 {
			if x := s.share[k] * at(s.at[k]); most {
				out = max(out, x)
			} else {
				out += x
			}
		}
	}
	switch {
	case all == 0:
		return 0
	case !most:
		out /= T(all)
	}
	return out
}
