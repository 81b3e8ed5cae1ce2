package spec

import "github.com/opgen/opgen/internal/source"

// CUDA says where the device code of an operator is that was written by hand, and how it is launched.
type CUDA struct {
	Key   source.Span
	Bad   bool // reading it gave findings
	File  Str
	Tasks []*CUDATask
}

// CUDATask is a task with device code by hand.
type CUDATask struct {
	Task   string
	Key    source.Span
	Per    Str // what computes an index: a thread or a block
	Block  Int // threads of a block
	Shared Str // an expression: bytes of shared memory of a block
}

// kernels reads where kernels for other targets are.
func (r *reader) kernels(e *source.Entry) *CUDA {
	t := r.sub(e, kernelsKeys)
	if t == nil {
		return nil
	}
	var out *CUDA
	if e := t.take("cuda"); e != nil {
		out = r.cuda(e)
	}
	t.done()
	return out
}

func (r *reader) cuda(e *source.Entry) *CUDA {
	t := r.sub(e, cudaKeys)
	if t == nil {
		return nil
	}
	x := &CUDA{Key: e.KeySpan, File: t.required("file")}
	tasks := 0
	for _, task := range t.t.Entries {
		if _, ok := task.Value.(*source.Table); !ok {
			continue
		}
		tasks++
		if c := r.cudaTask(t.take(task.Key)); c != nil {
			x.Tasks = append(x.Tasks, c)
		}
	}
	if tasks == 0 {
		t.missing("forward", "a table for each task that the file computes")
	}
	x.Bad = t.done()
	return x
}

func (r *reader) cudaTask(e *source.Entry) *CUDATask {
	t := r.sub(e, cudaTaskKeys)
	if t == nil {
		return nil
	}
	x := &CUDATask{Task: e.Key, Key: e.KeySpan, Per: t.str("per"), Block: t.integer("block")}
	if s := t.take("shared"); s != nil {
		x.Shared = r.expression(s)
	}
	t.done()
	return x
}
