//go:build arm64 || loong64 || ppc64 || ppc64le || riscv64 || s390x || amd64.v3

package simd

// fuses says that the compiler makes one instruction, which rounds once, of a product of float32 and a sum.
// The module of the generator tests it.
const fuses = true
