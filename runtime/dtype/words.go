package dtype

import "slices"

// words lists the words of specs that stand for several element types, with these types in the order in which
// specs list them. Types that no engine stores have no word.
var words = []struct {
	name  string
	types []Type
}{
	{"floating", []Type{F16, BF16, F32, F64}},
	{"integer", []Type{I8, I16, I32, I64, U8, U16, U32, U64}},
	{"signed", []Type{I8, I16, I32, I64}}, // behind integer, which has them, too: opgen fmt takes the first word that fits
}

// Words returns the words of specs that stand for several element types.
func Words() []string {
	var names []string
	for _, w := range words {
		names = append(names, w.name)
	}
	return names
}

// Named returns the element types that a word of specs, such as "floating", stands for. It returns nil if
// there is no such word.
func Named(word string) []Type {
	for _, w := range words {
		if w.name == word {
			return slices.Clone(w.types)
		}
	}
	return nil
}
