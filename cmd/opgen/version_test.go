package main

import (
	"runtime/debug"
	"testing"

	"github.com/opgen/opgen/internal/base/version"
)

func TestReleased(t *testing.T) {
	const sum = "h1:abc="
	commit := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "12ab"}}
	for _, c := range []struct {
		what, want string
		info       debug.BuildInfo
	}{
		{"from a proxy", "0.9.1", debug.BuildInfo{Main: debug.Module{Version: "v0.9.1", Sum: sum}}},
		{"a commit from a proxy", "0.1.1-0.20261123000000-123456789abc", debug.BuildInfo{Main: debug.Module{Version: "v0.1.1-0.20261123000000-123456789abc", Sum: sum}}},
		{"replaced by a folder", version.Version, debug.BuildInfo{Main: debug.Module{Version: "v0.9.1", Replace: &debug.Module{Path: "../opgen"}}}},
		{"in its repository", version.Version + " 12ab", debug.BuildInfo{Main: debug.Module{Version: "v0.1.1-0.20261123000000-123456789abc+dirty"}, Settings: commit}},
		{"without version control", version.Version, debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}},
	} {
		if got := released(&c.info); got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
}
