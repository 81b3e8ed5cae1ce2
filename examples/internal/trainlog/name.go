package trainlog

import (
	"maps"
	"slices"
	"strings"
)

// Name returns the name of a run: its options with values, in the order of their names. Those without a value
// are left out.
func Name(options map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(options)) {
		if options[k] != "" {
			parts = append(parts, k+" "+options[k])
		}
	}
	return strings.Join(parts, ", ")
}
