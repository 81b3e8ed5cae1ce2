//go:build tools

package opgen

// The programs that building and testing this repository runs, beside the tool lines of go.mod, for tools
// that read only one of the two.
import (
	_ "golang.org/x/tools/cmd/deadcode"

	_ "github.com/opgen/opgen/cmd/opconform"
	_ "github.com/opgen/opgen/cmd/opgen"
)
