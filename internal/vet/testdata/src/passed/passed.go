package passed

import (
	"helper"

	"github.com/opgen/opgen/runtime/tensor"
)

func run(v tensor.RO[float32], w tensor.WO[float32]) {
	helper.Each(2, func(i int) { w.Set(i, v.At(i)) })
	helper.Keep(func(i int) { w.Set(i, 0) }) // want `w, tensor.WO\[float32\], is held by what is passed to a function that may keep it`
	//opgen:raw the helper forgets it before the task ends
	helper.Keep(func(i int) { w.Set(i, 0) })
	_ = any(v) // want `v, tensor.RO\[float32\], becomes any`
}
