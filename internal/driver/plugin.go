package driver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/opgen/opgen/generate/plugin"
	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/base/version"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/parallel"
	"github.com/opgen/opgen/internal/plug"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/staging"
)

// Plugin is a plug-in with its configuration, which opgen.toml or the calling program gives.
type Plugin struct {
	Name    string
	Out     string // folder, relative to the module's root, with slashes
	Options json.RawMessage
	Plugin  plugin.Plugin
	Span    source.Span // of its name in opgen.toml
}

// plugins returns the plug-ins of the configuration and those of this process.
func (p *Project) plugins(own []Plugin) ([]Plugin, error) {
	var all []Plugin
	for _, c := range p.Config.Plugins {
		all = append(all, Plugin{c.Name, c.Out, json.RawMessage(c.Options),
			&plug.Command{Args: c.Command, Dir: p.Config.Root, Timeout: c.Timeout}, c.Span})
	}
	for _, o := range own {
		if !filepath.IsLocal(filepath.FromSlash(o.Out)) || o.Out == "." {
			return nil, fmt.Errorf("plug-in %s: want a folder below the module's root, got %q", o.Name, o.Out)
		}
		if source.InRepository(o.Out) {
			return nil, fmt.Errorf("plug-in %s: the folder %s is that of a repository", o.Name, o.Out)
		}
		if other := p.Config.OutOfPlace(o.Out); other != "" {
			return nil, fmt.Errorf("plug-in %s: the folders %s and %s must be different, neither within the other", o.Name, o.Out, other)
		}
		all = append(all, o)
	}
	return all, nil
}

// ask runs the plug-ins that share a folder and returns the folder's files. Failures and findings of plug-ins
// become findings of the project.
func (p *Project) ask(ctx context.Context, all []Plugin) ([]artifact.Artifact, error) {
	module, err := json.Marshal(p.Module())
	if err != nil {
		return nil, err
	}
	answers, errs := make([]*plugin.Response, len(all)), make([]error, len(all))
	parallel.Do(len(all), func(i int) {
		answers[i], errs[i] = all[i].Plugin.Generate(ctx, &plugin.Request{
			Protocol: plugin.Protocol, Opgen: version.Version, Plugin: all[i].Name, Options: all[i].Options, Model: module})
	})
	var files []artifact.Artifact
	by := map[string]*Plugin{} // the plug-in of each file, by path
	spelled := spellings{}
	for i := range all {
		a := &all[i]
		if errs[i] != nil {
			p.failed(a, errs[i])
			continue
		}
		if answers[i] == nil {
			continue
		}
		if n := len(answers[i].Files); n > maxFiles {
			p.Findings.Add(diag.PluginFailed, a.Span, "plug-in %s: want at most %d files, got %d", a.Name, maxFiles, n)
			continue
		}
		for _, f := range answers[i].Files {
			if why := misplaced(f); why != "" {
				p.Findings.Add(diag.PluginFile, a.Span, "plug-in %s: file %q: %s", a.Name, f.Path, why)
				continue
			}
			if other, name := spelled.add(f.Path, a); other != nil && by[f.Path] == nil {
				d := p.Findings.Add(diag.PluginFile, a.Span, "plug-in %s: file %q: file systems that do not tell upper case from lower case take it for %q", a.Name, f.Path, name)
				if other != a {
					d.See(other.Span, "the other one")
				}
			}
			if other := by[f.Path]; other == a {
				p.Findings.Add(diag.PluginFile, a.Span, "plug-in %s writes %s twice", a.Name, f.Path)
			} else if other != nil {
				p.Findings.Add(diag.PluginFile, a.Span, "plug-ins %s and %s both write %s/%s", other.Name, a.Name, a.Out, f.Path).See(other.Span, "the other one")
			}
			by[f.Path] = a
			files = append(files, p.artifact(f))
		}
		for _, f := range answers[i].Findings {
			d := p.Findings.Add(diag.PluginFinding, p.at(f.Pos, a.Span), "%s: %s", a.Name, f.Message)
			if f.Hint != "" {
				d.Hinted("%s", f.Hint)
			}
		}
	}
	return artifact.Seal(files, p.Config.Specs), nil
}

// maxFiles is how many files a plug-in may write.
const maxFiles = 20_000

// spellings holds the paths of files and of the folders above them, by their form without case.
type spellings map[string]struct {
	path string
	by   *Plugin
}

// add adds a path. It returns the plug-in that has spelled it, or a folder of it, otherwise, and that
// spelling.
func (s spellings) add(path string, by *Plugin) (other *Plugin, name string) {
	for end := range len(path) + 1 {
		if end < len(path) && path[end] != '/' {
			continue
		}
		part := path[:end]
		key := strings.ToLower(strings.ToUpper(part))
		if had, ok := s[key]; !ok {
			s[key] = struct {
				path string
				by   *Plugin
			}{part, by}
		} else if had.path != part {
			return had.by, had.path
		}
	}
	return nil, ""
}

// failed reports that a plug-in gave no answer.
func (p *Project) failed(a *Plugin, err error) {
	d := p.Findings.Add(diag.PluginFailed, a.Span, "plug-in %s: %v", a.Name, err)
	var e *plug.Error
	if !errors.As(err, &e) {
		return
	}
	if e.Hint != "" {
		d.Hinted("%s", e.Hint)
	}
	for _, line := range e.Stderr {
		d.See(source.Span{}, "%s", strings.TrimRight(line, "\r"))
	}
}

// misplaced says why a file cannot be written to the path that its plug-in gave, or returns "".
func misplaced(f plugin.File) string {
	switch {
	case !fs.ValidPath(f.Path) || f.Path == "." || strings.ContainsRune(f.Path, '\\') || strings.ContainsFunc(f.Path, unicode.IsControl):
		return "want a path below the plug-in's folder, with slashes"
	case source.InRepository(f.Path):
		return "a plug-in writes nothing into the folder of a repository"
	case staging.Within(f.Path):
		return "the folder is the one in which opgen prepares files"
	case f.Path == artifact.Manifest:
		return "the name is that of the list of checksums"
	case f.Text != "" && len(f.Data) > 0:
		return "want text or data, got both"
	case strings.ContainsFunc(f.Source, unicode.IsSpace) || strings.ContainsFunc(f.Source, unicode.IsControl):
		return fmt.Sprintf("want the path of a spec as source, got %q", f.Source)
	}
	return ""
}

func (p *Project) artifact(f plugin.File) artifact.Artifact {
	a := artifact.Artifact{Path: f.Path, Source: cmp.Or(f.Source, p.Config.Specs), Data: f.Data}
	if f.Text != "" {
		a.Data = []byte(f.Text)
	}
	if artifact.Known(f.Path) {
		a.Data = append([]byte("\n"), a.Data...) // between the header and the text
	}
	return a
}

var position = regexp.MustCompile(`^(.+):(\d+):(\d+)$`)

// at returns the span of the name that begins at a position of a spec. It returns other if there is no such
// position.
func (p *Project) at(pos string, other source.Span) source.Span {
	m := position.FindStringSubmatch(pos)
	if m == nil {
		return other
	}
	line, _ := strconv.Atoi(m[2])
	col, _ := strconv.Atoi(m[3])
	for _, in := range p.Inputs {
		f := &source.File{Path: in.Path, Text: in.Text}
		if start, ok := f.Offset(line, col); ok && in.Path == m[1] {
			rest := f.Text[start:]
			end := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
			if end < 0 {
				end = len(rest)
			}
			return source.Span{File: f, Start: start, End: start + end}
		}
	}
	return other
}
