package model

import (
	"cmp"
	"slices"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/base/cname"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
)

// CUDA is device code that was written by hand.
type CUDA struct {
	File  string      `json:"file"`  // in the folder of kernels
	Text  string      `json:"-"`     // of the file
	Path  string      `json:"-"`     // of the file, from the module's root
	Tasks []CUDATask  `json:"tasks"` // that the file computes
	Pos   source.Pos  `json:"pos"`
	Span  source.Span `json:"-"` // of the file's name
}

// CUDATask is a task with device code by hand.
type CUDATask struct {
	*Task    `json:"-"` // with its signature
	Name     string     `json:"task"`                // of the task
	PerBlock bool       `json:"per_block,omitempty"` // whether a block computes an index; otherwise a thread does
	Block    int        `json:"block"`               // threads of a block
	Shared   string     `json:"shared,omitempty"`    // an expression: bytes of shared memory of a block
	SharedX  expr.Node  `json:"-"`
}

// defaultBlock is how many threads a block has if the spec does not say.
const defaultBlock = 256

// cuda resolves the device code of an operator; nil if none was written by hand.
func (o *Operator) cuda(sc *scope.Scope) *CUDA {
	c := sc.Spec.CUDA
	if c == nil {
		return nil
	}
	out := &CUDA{File: c.File.V, Pos: c.Key.Pos(), Span: c.File.Span()}
	for _, x := range c.Tasks {
		i := slices.IndexFunc(o.Tasks, func(t *Task) bool { return t.Name == x.Task })
		out.Tasks = append(out.Tasks, CUDATask{Task: o.Tasks[i], Name: x.Task, PerBlock: x.Per.V == "block", Block: int(cmp.Or(x.Block.V, defaultBlock)),
			Shared: x.Shared.V, SharedX: sc.Typed(x.Shared)})
	}
	return out
}

// CUDAFunction returns the name of the device function of a step.
func (o *Operator) CUDAFunction(t CUDATask, s *Step) string {
	name := o.Operator.Name + "_" + t.Name
	if s.Step.Name != "" {
		name += "_" + s.Step.Name
	}
	return name
}

// CUDATemplate returns the parameters of the template that a device function is, such as "class T".
func (o *Operator) CUDATemplate() string {
	text := ""
	for i, v := range o.Types {
		if i > 0 {
			text += ", "
		}
		text += "class " + v.Name
	}
	return text
}

// CUDAArguments returns the type of a task's arguments in device code, such as softmax::forward<T>.
func (o *Operator) CUDAArguments(t CUDATask) string {
	text := cname.Of(o.Operator.Name) + "::" + cname.Of(t.Name)
	for i, v := range o.Types {
		if i == 0 {
			text += "<"
		} else {
			text += ", "
		}
		text += v.Name
		if i == len(o.Types)-1 {
			text += ">"
		}
	}
	return text
}

// Blocks lists the arguments of the task that are state in memory of the device, in the order of the
// signature.
func (t *CUDATask) Blocks() []*Arg {
	var out []*Arg
	for _, a := range t.Args {
		if a.Block {
			out = append(out, a)
		}
	}
	return out
}
