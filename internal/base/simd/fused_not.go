//go:build !(arm64 || loong64 || ppc64 || ppc64le || riscv64 || s390x || amd64.v3)

package simd

// fuses says that there are two roundings in a product of float32 and a sum.
const fuses = false
