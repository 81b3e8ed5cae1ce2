// Package unlock holds the key with which the runtime's own packages reach the memory behind a
// view. Being internal to the runtime, kernels and generated code cannot name it.
package unlock

// Key opens a view. Its unexported field keeps literals of other packages from being assignable.
type Key struct{ _ sealed }

type sealed struct{}
