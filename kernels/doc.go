// Package kernels computes operators of folder specs on CPUs: the bodies of their tasks, written by hand. The kernels of
// all other operators are their formulas.
//
// The type that implements an operator has its name: conv_2d is Conv2d. It is registered by the
// generated package catalogue, which does not compile if a kernel lacks a method or has the wrong type.
package kernels

//go:generate go tool opgen generate
