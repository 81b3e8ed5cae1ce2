package helper

var kept []func(int)

// Each keeps nothing.
func Each(n int, f func(int)) {
	for i := range n {
		f(i)
	}
}

// Keep keeps a function by way of another one.
func Keep(f func(int)) { later(f) }

func later(f func(int)) { kept = append(kept, f) }
