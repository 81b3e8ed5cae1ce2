//go:build cuda

// Package ahead keeps device code that was compiled ahead in a folder, for machines without a compiler. A
// source is a file that ends with .cu, and its code for an architecture, such as sm_90, one that ends with
// the architecture. Code in PTX, which drivers compile, ends with .ptx. The names of both begin with a
// checksum of the source.
package ahead

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// PTX is the form of code that drivers compile; others are architectures.
const PTX = "ptx"

const sourceEnd = ".cu"

// name returns what the names of the files of a source begin with.
func name(source string) string {
	sum := sha256.Sum256([]byte(source))
	return hex.EncodeToString(sum[:])
}

// Keep writes a source to a folder, which exists afterwards.
func Keep(dir, source string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	path := filepath.Join(dir, name(source)+sourceEnd)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	return Write(path, []byte(source))
}

// Write writes a file. Readers see all of it or nothing.
func Write(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "new")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// Find returns the code of a source for an architecture; nil if the folder has none. Code for an older
// architecture of the same generation runs, too, and PTX on any newer one.
func Find(dir, source, arch string) []byte {
	for _, end := range ends(arch) {
		if image, err := os.ReadFile(filepath.Join(dir, name(source)+end)); err == nil {
			return image
		}
	}
	return nil
}

// File returns the path of the code of a source, whose path is given, in a form.
func File(source, form string) string { return strings.TrimSuffix(source, sourceEnd) + "." + form }

// ends returns the ends of the names of code that runs on an architecture, the best first.
func ends(arch string) []string {
	list := []string{"." + arch}
	if n, err := strconv.Atoi(strings.TrimPrefix(arch, "sm_")); err == nil {
		for k := n - 1; k >= n/10*10; k-- {
			list = append(list, fmt.Sprintf(".sm_%d", k))
		}
	}
	return append(list, "."+PTX)
}

// Sources returns the sources of a folder by the paths of their files, in their order.
func Sources(dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+sourceEnd))
	slices.Sort(paths)
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s: want sources of device code: %w", dir, fs.ErrNotExist)
	}
	return paths, err
}
