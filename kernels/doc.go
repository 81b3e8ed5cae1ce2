// Package kernels computes operators of folder specs on CPUs: the hand-written bodies of their tasks. The
// formulas of the other operators are their kernels.
//
// The type that implements an operator has its name: conv_2d is Conv2d. It is registered by the
// generated package catalogue, which does not compile if a kernel has the wrong type.
package kernels

//go:generate go tool opgen generate
