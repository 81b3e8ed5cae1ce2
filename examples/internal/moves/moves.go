// Package moves has the operators with which strategies cut tensors and join them.
package moves

import (
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
