package vec

import (
	"unsafe"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/tensor"
)

// Convert converts the elements of src to the type of dst, which has the same length. A number becomes
// true unless it is 0, and true becomes 1. Floating-point numbers become integers without their
// fraction; those outside of the type's range become its nearest bound, and NaN becomes 0. Integers
// wrap around. All else rounds to the nearest number, to even where two are as near.
func Convert[D, S dtype.Element](dst tensor.WOLane[D], src tensor.ROLane[S]) {
	switch s := any(src).(type) {
	case tensor.ROLane[bool]:
		fromBool(dst, s)
	case tensor.ROLane[int8]:
		fromInteger(dst, s)
	case tensor.ROLane[int16]:
		fromInteger(dst, s)
	case tensor.ROLane[int32]:
		fromInteger(dst, s)
	case tensor.ROLane[int64]:
		fromInteger(dst, s)
	case tensor.ROLane[uint8]:
		fromInteger(dst, s)
	case tensor.ROLane[uint16]:
		fromInteger(dst, s)
	case tensor.ROLane[uint32]:
		fromInteger(dst, s)
	case tensor.ROLane[uint64]:
		fromInteger(dst, s)
	case tensor.ROLane[float32]:
		fromFloat(dst, s)
	case tensor.ROLane[float64]:
		fromFloat(dst, s)
	}
}

func fromBool[D dtype.Element](dst tensor.WOLane[D], src tensor.ROLane[bool]) {
	if d, ok := any(dst).(tensor.WOLane[bool]); ok {
		Copy(d, src)
		return
	}
	var one D
	switch p := any(&one).(type) {
	case *int8:
		*p = 1
	case *int16:
		*p = 1
	case *int32:
		*p = 1
	case *int64:
		*p = 1
	case *uint8:
		*p = 1
	case *uint16:
		*p = 1
	case *uint32:
		*p = 1
	case *uint64:
		*p = 1
	case *float32:
		*p = 1
	case *float64:
		*p = 1
	}
	var zero D
	for i := range src.Len() {
		if src.At(i) {
			dst.Set(i, one)
		} else {
			dst.Set(i, zero)
		}
	}
}

func fromInteger[D dtype.Element, S dtype.Integer](dst tensor.WOLane[D], src tensor.ROLane[S]) {
	switch d := any(dst).(type) {
	case tensor.WOLane[bool]:
		notZero(d, src)
	case tensor.WOLane[int8]:
		plain(d, src)
	case tensor.WOLane[int16]:
		plain(d, src)
	case tensor.WOLane[int32]:
		plain(d, src)
	case tensor.WOLane[int64]:
		plain(d, src)
	case tensor.WOLane[uint8]:
		plain(d, src)
	case tensor.WOLane[uint16]:
		plain(d, src)
	case tensor.WOLane[uint32]:
		plain(d, src)
	case tensor.WOLane[uint64]:
		plain(d, src)
	case tensor.WOLane[float32]:
		plain(d, src)
	case tensor.WOLane[float64]:
		plain(d, src)
	}
}

func fromFloat[D dtype.Element, S dtype.Float](dst tensor.WOLane[D], src tensor.ROLane[S]) {
	switch d := any(dst).(type) {
	case tensor.WOLane[bool]:
		notZero(d, src)
	case tensor.WOLane[int8]:
		truncated(d, src)
	case tensor.WOLane[int16]:
		truncated(d, src)
	case tensor.WOLane[int32]:
		truncated(d, src)
	case tensor.WOLane[int64]:
		truncated(d, src)
	case tensor.WOLane[uint8]:
		truncated(d, src)
	case tensor.WOLane[uint16]:
		truncated(d, src)
	case tensor.WOLane[uint32]:
		truncated(d, src)
	case tensor.WOLane[uint64]:
		truncated(d, src)
	case tensor.WOLane[float32]:
		plain(d, src)
	case tensor.WOLane[float64]:
		plain(d, src)
	}
}

func notZero[S dtype.Number](dst tensor.WOLane[bool], src tensor.ROLane[S]) {
	for i := range src.Len() {
		dst.Set(i, src.At(i) != 0)
	}
}

// plain converts as Go does, where that is defined for all values.
func plain[D, S dtype.Number](dst tensor.WOLane[D], src tensor.ROLane[S]) {
	for i := range src.Len() {
		dst.Set(i, D(src.At(i)))
	}
}

// truncated converts to integers. What Go makes of numbers that do not fit depends on the machine.
func truncated[D dtype.Integer, S dtype.Float](dst tensor.WOLane[D], src tensor.ROLane[S]) {
	least, most := limits[D]()
	// Both are powers of two or 0, so they are exact: numbers from lo to just below end fit.
	lo, end := float64(least), float64(most/2+1)*2
	for i := range src.Len() {
		switch x := float64(src.At(i)); {
		case x >= end:
			dst.Set(i, most)
		case x >= lo:
			dst.Set(i, D(x))
		case x < lo:
			dst.Set(i, least)
		default: // NaN
			dst.Set(i, 0)
		}
	}
}

// limits returns the least and the greatest number of an integer type.
func limits[D dtype.Integer]() (least, most D) {
	if least--; least > 0 { // unsigned
		return 0, least
	}
	bits := 8 * unsafe.Sizeof(least)
	least = 1 << (bits - 1)
	return least, -(least + 1)
}
