// Package cname turns names of specs into names of CUDA C++.
package cname

import "strings"

// Of returns a name as CUDA C++ can have it: a word of the language gets an underscore.
func Of(name string) string {
	if Word(name) {
		return name + "_"
	}
	return name
}

// Word reports whether C++ gives a name a meaning.
func Word(name string) bool { return words[name] }

var words = map[string]bool{}

func init() {
	for _, w := range strings.Fields(`alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const consteval
		constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double dynamic_cast else enum explicit export
		extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected
		public register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this
		thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq`) {
		words[w] = true
	}
}
