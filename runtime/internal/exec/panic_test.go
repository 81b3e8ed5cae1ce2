package exec

import "testing"

// TestWhere finds kernels in stacks.
func TestWhere(t *testing.T) {
	const begin = `goroutine 18 [running]:
runtime/debug.Stack()
	runtime/debug/stack.go:26 +0x5e
github.com/opgen/opgen/runtime/internal/exec.(*job).run.func1()
	github.com/opgen/opgen/runtime/internal/exec/exec.go:330 +0x45
panic({0x10?, 0x20?})
	runtime/panic.go:860 +0x132
`
	const end = `github.com/opgen/opgen/runtime/internal/exec.(*job).run(0xc0, 0x1)
	github.com/opgen/opgen/runtime/internal/exec/exec.go:360 +0x1
main.main()
	example.com/nn/main.go:3 +0x1
`
	for want, stack := range map[string]string{
		"": begin + end,
		"example.com/nn/kernels/topk.go:40": begin + `runtime.goPanicIndex(0x3, 0x2)
	runtime/panic.go:115 +0x74
github.com/opgen/opgen/runtime/tensor.RO[...].At(...)
	github.com/opgen/opgen/runtime/tensor/view.go:80
example.com/nn/kernels.Topk[...].Forward(0xc0, 0x1)
	example.com/nn/kernels/topk.go:40 +0x1f
example.com/nn/generated/topk.(*forward[...]).Run(0xc0)
	example.com/nn/generated/topk/tasks.go:9 +0x1f
` + end,
		"/home/me/nn/kernels/mish.go:7": begin + `example.com/nn/kernels.Mish.Forward(0xc0, 0x1)
	/home/me/nn/kernels/mish.go:7 +0x1f
` + end,
	} {
		if got := (&Panic{Stack: []byte(stack)}).where(); got != want {
			t.Errorf("got %q, want %q, of\n%s", got, want, stack)
		}
	}
	if got := (&Panic{Value: 1}).Error(); got != "the kernel panicked: 1" {
		t.Errorf("without a stack: %s", got)
	}
	if got := (&Panic{Stack: []byte("no stack\npanic(1")}).where(); got != "" {
		t.Errorf("of half a stack: %q", got)
	}
}
