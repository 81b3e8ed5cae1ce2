package tensor

type RO[T any] struct{ data []T }

func (v RO[T]) At(i int) T { return v.data[i] }

type WO[T any] struct{ data []T }

func (v WO[T]) Set(i int, x T) { v.data[i] = x }

type Opt[V any] struct{ v V }

type Mode uint8
