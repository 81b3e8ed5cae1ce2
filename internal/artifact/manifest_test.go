package artifact

import (
	"strings"
	"testing"
)

func TestManifest(t *testing.T) {
	files := Seal([]Artifact{
		{Path: "b/two.json", Data: []byte("{}")},
		{Path: "a.h", Source: "specs/a.toml", Data: []byte("int a;\n")},
		{Path: "a.csv", Data: []byte("1,2\n")},
	}, "specs")
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	if got := strings.Join(paths, " "); got != "a.csv a.h b/two.json opgen.sums" {
		t.Fatalf("sealed files are %s", got)
	}
	manifest := files[3].Data
	sums := ReadManifest(manifest)
	if len(sums) != 2 {
		t.Errorf("the manifest lists %v", sums)
	}
	for _, f := range files {
		if got := sums.Owner(f.Path, f.Data); got != Ours {
			t.Errorf("%s: owner %d, want %d", f.Path, got, Ours)
		}
		if got := sums.Owner(f.Path, append(f.Data, 'x')); got != Edited {
			t.Errorf("%s, edited: owner %d, want %d", f.Path, got, Edited)
		}
	}
	if got := sums.Owner("c.json", []byte("{}")); got != Foreign {
		t.Errorf("a file that is not listed: owner %d, want %d", got, Foreign)
	}
	if sums := ReadManifest([]byte(strings.Replace(string(manifest), "two", "too", 1))); len(sums) != 0 {
		t.Errorf("an edited manifest lists %v", sums)
	}
	if files := Seal([]Artifact{{Path: "a.h"}}, "specs"); len(files) != 1 {
		t.Errorf("a folder without such files gets %d files", len(files))
	}
}
