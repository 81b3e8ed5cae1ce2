// Package kernels computes the operators of folder specs on CPUs: the hand-written bodies of their tasks.
//
// The type that implements an operator has its name: conv_2d is Conv2d. It is registered by the
// generated package catalogue, which does not compile if a kernel is missing or has the wrong type.
package kernels

//go:generate go tool opgen generate
