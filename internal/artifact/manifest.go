package artifact

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Manifest is the name of the file that lists the checksums of those files of a folder that have no comments,
// such as JSON. It is a generated file itself, with a header and a checksum.
const Manifest = "opgen.sums"

// Seal returns the files of a folder, sorted by path, in a form that opgen recognizes: files of known
// languages are signed, and a manifest lists the others, if there are any. source is what the manifest was
// made from.
func Seal(files []Artifact, source string) []Artifact {
	sealed := make([]Artifact, 0, len(files)+1)
	var lines []string
	for _, f := range files {
		if Known(f.Path) {
			f = f.Sign()
		} else {
			lines = append(lines, fmt.Sprintf("%s  %s\n", sum(f.Data), f.Path))
		}
		sealed = append(sealed, f)
	}
	if len(lines) > 0 {
		slices.SortFunc(lines, func(a, b string) int { return cmp.Compare(a[sumLength:], b[sumLength:]) })
		sealed = append(sealed, Artifact{Path: Manifest, Source: source, Data: []byte(strings.Join(lines, ""))}.Sign())
	}
	slices.SortFunc(sealed, func(a, b Artifact) int { return cmp.Compare(a.Path, b.Path) })
	return sealed
}

const sumLength = 32

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:sumLength/2])
}

// Sums holds the checksums of files, by path below their folder.
type Sums map[string]string

// ReadManifest returns the checksums that a manifest lists. It returns none if the manifest is not as opgen
// wrote it.
func ReadManifest(data []byte) Sums {
	if Sums(nil).Owner(Manifest, data) != Ours {
		return Sums{}
	}
	return MergedManifest(data)
}

// MergedManifest is ReadManifest for a manifest that was merged from two that opgen wrote. Of a file whose
// checksums differ, it returns one of them.
func MergedManifest(data []byte) Sums {
	sums := Sums{}
	for line := range strings.Lines(string(Unix(data))) {
		line = strings.TrimSuffix(line, "\n")
		if sum, path, ok := strings.Cut(line, "  "); ok && len(sum) == sumLength {
			sums[path] = sum
		}
	}
	return sums
}

// Owner returns the ownership of a file, from its content and the folder's manifest.
func (s Sums) Owner(path string, data []byte) Ownership {
	if Known(path) {
		return owner(data)
	}
	switch want, listed := s[path]; {
	case !listed:
		return Foreign
	case want == sum(data), want == sum(Unix(data)):
		return Ours
	}
	return Edited
}
