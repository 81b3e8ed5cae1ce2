package simd

// ofProcessor returns the set of instructions beside that of Go, which all processors of this architecture
// have.
func ofProcessor() []set {
	return []set{{"neon", true, func() {
		use(table32NEON(), table64NEON(), conversionTable{widen, narrow, rests, draw, units, normals, func([]byte) {}, nil, func() {}, below[int32], below[int64]})
	}, 16}}
}
