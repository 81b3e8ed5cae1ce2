package onnx

// Within bounds the bytes of constants that follow from others, for tests.
func Within(bytes int64) Option { return func(b *builder) { b.fold.left = bytes } }

// ParseFunctions reads definitions of operators by others, and returns the operators that have them and those
// in their lines.
func ParseFunctions(text string) (defined, used []string, err error) {
	if text == "" {
		text = functionsText
	}
	list, err := parseDefinitions(text)
	for _, d := range list {
		defined = append(defined, d.domain+"."+d.op)
		for _, s := range d.steps {
			if s.Op != "" && !d.reads[s.Op] {
				domain, op := splitName(s.Op)
				used = append(used, domain+"."+op)
			}
		}
	}
	return defined, used, err
}
