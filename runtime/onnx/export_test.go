package onnx

// Within bounds the bytes of constants that follow from others, for tests.
func Within(bytes int64) Option { return func(b *builder) { b.fold.left = bytes } }
