// Command release writes a release of the module into a folder that serves as a module proxy: for networks
// without access to the public one, and for tests of a release before there is one. It prints what GOPROXY
// has to begin with.
//
// Usage, at the root of the module:
//
//	go run ./internal/release [-version v0.1.0] [-revision REVISION] DIR
//
// The release has the files of the folder as they are, or those of a git revision. The exit status is 2 for
// an error.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/opgen/opgen/internal/base/version"
	"github.com/opgen/opgen/internal/modproxy"
	"github.com/opgen/opgen/internal/printer"
)

func main() {
	name := flag.String("version", "v"+version.Version, "the `version` of the release")
	revision := flag.String("revision", "", "the git `revision` of its files; empty: the files as they are")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	os.Exit(printer.Run("release", os.Stdout, os.Stderr, func(stdout, stderr io.Writer) int {
		if err := write(stdout, flag.Arg(0), ".", *name, *revision); err != nil {
			fmt.Fprintln(stderr, "release:", err)
			return 2
		}
		return 0
	}))
}

// write adds a version of the module in source to the proxy in dir.
func write(w io.Writer, dir, source, name, revision string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	path, err := modproxy.Add(dir, source, name, revision)
	if err == nil {
		fmt.Fprintf(w, "%s %s: GOPROXY=file://%s\n", path, name, filepath.ToSlash(dir))
	}
	return err
}
