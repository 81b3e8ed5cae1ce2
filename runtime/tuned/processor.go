package tuned

import (
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/opgen/opgen/internal/base/simd"
)

// Processor returns the name of this machine's processor, as far as the system tells, and of the set of
// instructions that loops use.
var Processor = sync.OnceValue(func() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		text = nil // no Linux: the architecture must do
	}
	return processor(string(text)) + ", " + simd.Set()
})

// processor reads what Linux says of the first processor.
func processor(info string) string {
	first, _, _ := strings.Cut(info, "\n\n")
	fields := map[string]string{}
	for line := range strings.Lines(first) {
		name, value, _ := strings.Cut(line, ":")
		fields[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	var words []string
	for _, f := range []struct{ name, before string }{{"model name", ""}, {"CPU implementer", "implementer "}, {"CPU part", "part "}, {"cpu family", "family "}, {"model", "model "}} {
		if v := fields[f.name]; v != "" {
			words = append(words, f.before+v)
		}
	}
	if len(words) == 0 {
		words = []string{runtime.GOARCH}
	}
	return strings.Join(words, " ")
}
