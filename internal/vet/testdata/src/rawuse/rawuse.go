package rawuse

import (
	"github.com/opgen/opgen/runtime/raw"
	"github.com/opgen/opgen/runtime/tensor"
)

func sum(v tensor.RO[float32]) (s float32) {
	for _, x := range raw.Slice(v) { // want `raw.Slice gives access to the memory behind a view; give the reason in a comment //opgen:raw reason`
		s += x
	}
	//opgen:raw the library wants slices
	library(raw.Slice(v))
	library(raw.Slice(v)) //opgen:raw so does this
	//opgen:raw
	library(raw.Slice(v)) // want `raw.Slice gives access to the memory`
	return s
}

func library([]float32) {}
