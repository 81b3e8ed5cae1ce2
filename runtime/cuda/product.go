//go:build cuda

package cuda

import (
	"fmt"
	"os"

	"gorgonia.org/cu"

	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/internal/cudadriver"
)

// blasVariable is the variable of the environment that holds the path of cuBLAS. With "none", products are
// computed by device code alone.
const blasVariable = "OPGEN_LIBCUBLAS"

// blasPaths are where cuBLAS is looked for.
var blasPaths = []string{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "/usr/local/cuda/lib64/libcublas.so"}

// blas is the library that multiplies matrices.
type blas struct {
	*cudadriver.BLAS      // nil if there is none
	wanted           bool // whether the environment names it, so that its errors are not passed over
}

// findBLAS opens the library.
func findBLAS() (blas, error) {
	switch path := os.Getenv(blasVariable); path {
	case "none":
		return blas{}, nil
	case "":
		for _, path := range blasPaths {
			if b, err := cudadriver.OpenBLAS(path); err == nil {
				return blas{b, false}, nil
			}
		}
		return blas{}, nil
	default:
		b, err := cudadriver.OpenBLAS(path)
		if err != nil {
			return blas{}, fmt.Errorf("%s: %w", blasVariable, err)
		}
		return blas{b, true}, nil
	}
}

// open makes sure that products of a program that run on a stream have a library, if there is one.
func (p *program) open(d *device, s cu.Stream) error {
	if !p.multiplies[d] {
		return nil
	}
	library, err := p.backend.products(d, s)
	if err == nil && library != nil {
		p.products[s] = library
	}
	return err
}

// products returns what multiplies matrices on a stream of a device; nil if device code does. A library that
// was only found, and that does not begin to work, is not used.
func (b *Backend) products(d *device, s cu.Stream) (*cudadriver.Products, error) {
	if b.blas.BLAS == nil {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok := d.products[s]; ok {
		return p, nil
	}
	var p *cudadriver.Products
	err := d.do(func() (err error) {
		p, err = b.blas.NewProducts(s)
		return err
	})
	if err != nil {
		if b.blas.wanted {
			return nil, err
		}
		p = nil
	}
	if d.products == nil {
		d.products = map[cu.Stream]*cudadriver.Products{}
	}
	d.products[s] = p
	return p, nil
}

// product is a launch that a library computes. Its matrices are those that the library takes: by columns, so
// the first factor is the second of the result by rows.
type product struct {
	m, n, k, b int
	x, y, z    cudadriver.Factor
	add        bool // to what z holds
}

// productOf returns a launch as a product of a library, with the addresses that are its arguments.
func productOf(p *gpu.Product, args []uint64) *product {
	return &product{p.Cols, p.Rows, p.Sum, p.Batch, factor(p.B, args), factor(p.A, args), factor(p.C, args), p.Add}
}

// factor returns a matrix by rows as one by columns, which has rows and columns exchanged.
func factor(m gpu.Matrix, args []uint64) cudadriver.Factor {
	f := cudadriver.Factor{At: args[m.Arg] + uint64(m.Offset*m.Type.Size()), Type: m.Type, Lead: m.Down, Next: m.Next}
	if m.Right != 1 {
		f.Turned, f.Lead = true, m.Right
	}
	return f
}

func (p *product) enqueue(library *cudadriver.Products) error {
	return library.Multiply(p.m, p.n, p.k, p.b, &p.x, &p.y, &p.z, p.add)
}
