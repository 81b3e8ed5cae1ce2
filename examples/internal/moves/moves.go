// Package moves divides the tensors of examples among devices, as a strategy says: it reads the strategy, has
// the operators that cut tensors and join them, and makes whole weights of parts.
package moves

import (
	"context"
	"os"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/concat"
	"github.com/opgen/opgen/generated/slice"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/mesh"
	"github.com/opgen/opgen/runtime/task"
)

// Parts cuts by slice and joins by concat.
var Parts = mesh.Moves{
	Cut: func(dim, from, count int) (*graph.Operator, task.Attrs) {
		return slice.Operator, slice.Defaults(from, count).WithAxis(dim)
	},
	Join: func(dim int) (*graph.Operator, task.Attrs) { return concat.Operator, concat.Defaults(dim) },
}

// Strategy reads the strategy of a file, and sets the number of devices to that of its mesh. Without a path
// it does nothing.
func Strategy(path string, devices *int) (*mesh.Strategy, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := mesh.Parse(path, text)
	if err != nil {
		return nil, err
	}
	*devices = s.Devices()
	return s, nil
}

// Gather makes whole weights of the parts on devices, for networks that answer. It does nothing if d is nil.
func Gather(ctx context.Context, s *opgen.Session, d *mesh.Divided) error {
	if d == nil {
		return nil
	}
	p, err := d.Gather()
	if err != nil || len(p.Steps) == 0 {
		return err
	}
	whole, err := s.Load(ctx, p)
	if err != nil {
		return err
	}
	return whole.Run(ctx)
}
