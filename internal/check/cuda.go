package check

import (
	"path"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/perm"
)

// Limits of blocks on devices of compute capability 8.0 and above.
const (
	maxBlock  = 1024
	warpLanes = 32
)

// cuda checks how device code by hand is launched. The file itself is read when code is generated.
func (o *operator) cuda(c *spec.CUDA) {
	if f := c.File; f.Set() && (path.Ext(f.V) != ".cu" || path.Base(f.V) != f.V || strings.HasPrefix(f.V, ".")) {
		o.list.Add(diag.BadValue, f.Span(), "file: want the name of a file of the folder of kernels that ends in .cu, got %q", f.V)
	}
	for _, x := range c.Tasks {
		o.cudaTask(x)
	}
}

func (o *operator) cudaTask(x *spec.CUDATask) {
	t := o.taskNamed(x.Task)
	if t == nil {
		if !o.s.Unread["tasks"] {
			o.list.Add(diag.Undefined, x.Key, "there is no task %s that could have device code", x.Task)
		}
		return
	}
	if x.Per.Set() && x.Per.V != "thread" && x.Per.V != "block" {
		o.list.Add(diag.BadValue, x.Per.Span(), "per: want thread or block, got %q", x.Per.V)
	}
	if b := x.Block; b.Set() && (b.V < warpLanes || b.V > maxBlock || b.V%warpLanes != 0) {
		o.list.Add(diag.BadValue, b.Span, "block: want a multiple of %d up to %d, got %d", warpLanes, maxBlock, b.V)
	}
	o.sc.Extent(x.Shared)
	if t.Bad {
		return
	}
	if t.Kind.V == "init" || t.Kind.V == "cleanup" {
		o.list.Add(diag.BadTask, x.Key, "%s runs on the host, so it has no device code", t.Name)
	}
	for _, p := range rules.Params(o.s, t) {
		if why := cannotPass(p); why != "" {
			o.list.Add(diag.NotYet, x.Key, "device code by hand does not get %s yet", why)
		}
	}
	for _, a := range rules.TaskArgs(o.s, t) {
		switch {
		case a.From.V == "attrs" || rules.Block(a):
		case a.From.V == "init":
			o.list.Add(diag.NotYet, x.Key, "device code by hand does not get %s, which is state in memory of Go", a.Name).
				Hinted("make it of type \"*github.com/opgen/opgen/runtime/task.Block\": init allocates such memory of the device by task.AllocBlock")
		default:
			o.list.Add(diag.NotYet, x.Key, "device code by hand does not get arguments yet, such as %s", a.Name)
		}
	}
}

// cannotPass says which kind of tensor device code by hand does not get; nothing if it gets the tensor.
func cannotPass(p rules.Param) string {
	switch s := p.Slot; {
	case s.Variadic != nil:
		return "several tensors, as those of " + s.Name
	case s.Per.V == "worker":
		return "memory of workers, as " + s.Name
	case p.Perm == perm.Reduce:
		return "tensors that it folds into, as " + s.Name
	case p.Scatter:
		return "gradients that are added to, as that of " + s.Name
	}
	return ""
}
