// Command platforms checks the types of all packages for other systems and processors: what the compiler
// would refuse, but for its last steps, in some seconds for each. It compiles nothing.
//
// Usage:
//
//	go run ./test/platforms [-of PACKAGES] SYSTEM/PROCESSOR ...
//
// Errors are printed, each with its platform. The exit status is 1 if there is one.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	of := flag.String("of", "./...", "the `packages` that are checked, separated by spaces")
	flag.Parse()
	if err := run(os.Stdout, ".", strings.Fields(*of), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "platforms:", err)
		os.Exit(1)
	}
}

// run checks packages of the module in a folder for each platform, and prints what is wrong. Its error says
// how much that is.
func run(w io.Writer, dir string, patterns, platforms []string) error {
	wrong := 0
	for _, platform := range platforms {
		system, processor, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("want SYSTEM/PROCESSOR, got %q", platform)
		}
		loaded, err := packages.Load(&packages.Config{
			Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
				packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax,
			Dir: dir,
			Env: append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
		}, patterns...)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		errors := 0
		packages.Visit(loaded, nil, func(p *packages.Package) {
			for _, e := range p.Errors {
				fmt.Fprintf(w, "%s: %s\n", platform, e)
				errors++
			}
		})
		fmt.Fprintf(w, "%s: %d packages, %d errors\n", platform, len(loaded), errors)
		wrong += errors
	}
	if wrong > 0 {
		return fmt.Errorf("%d errors", wrong)
	}
	return nil
}
