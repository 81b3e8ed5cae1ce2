package output

import (
	"context"
	"regexp"
	"strings"

	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/revision"
)

// marker matches a line that git puts around a conflict.
var marker = regexp.MustCompile(`^(<<<<<<<|=======|>>>>>>>|\|\|\|\|\|\|\|)( .*)?$`)

// merges finds files that git has merged from what opgen wrote: two branches changed a generated file, so
// that the checksum of the result fits neither, with a conflict or without. No work of a user is in such a
// file, and opgen writes it anew.
type merges struct {
	dir    string
	found  *revision.Merge // nil if there is no merge
	looked bool
}

// merged reports whether a file consists of lines of two versions, both as opgen wrote them, that are merged.
func (m *merges) merged(path string, data []byte) bool {
	ctx := context.Background()
	if !m.looked {
		m.found, m.looked = revision.FindMerge(ctx, m.dir), true
	}
	if m.found == nil {
		return false
	}
	result := false
	m.found.Versions(ctx, func(versions [][][]byte) bool {
		lines := map[string]bool{}
		for i, v := range versions {
			file, manifest := v[0], v[1]
			ours := file != nil && artifact.ReadManifest(manifest).Owner(path, file) == artifact.Ours
			if !ours && i < 2 {
				return false // a side that was edited, or that has no such file
			}
			if ours {
				for line := range strings.Lines(string(artifact.Unix(file))) {
					lines[strings.TrimSuffix(line, "\n")] = true
				}
			}
		}
		for line := range strings.Lines(string(artifact.Unix(data))) {
			if line = strings.TrimSuffix(line, "\n"); !lines[line] && !marker.MatchString(line) {
				return false
			}
		}
		result = true
		return true
	}, path, artifact.Manifest)
	return result
}
