package driver

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/check"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/gomod"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/spec"
)

// usedModule is a module whose specs another one names.
type usedModule struct {
	*gomod.Module
	config *config.Config
	dir    string // its folder relative to the root of the project, with slashes; "" if there is no such path
	specs  []*spec.Spec
	model  *model.Module
}

// users reads the modules that a project uses, and those that these use. The go.mod of the project decides on
// all versions.
type users struct {
	root   string
	loaded map[string]*usedModule // by path
	sums   sums                   // of the project; what is read is added
	active []string               // the paths of modules that are being read, each used by the one before
}

// names reads the modules that a configuration uses. Findings go to list, at the names of the modules.
func (u *users) names(c *config.Config, list *diag.List) (*check.Names, []*model.Module) {
	var names check.Names
	var models []*model.Module
	for _, use := range c.Uses {
		m := u.module(use, list)
		if m == nil {
			continue
		}
		names.Add(use.As, m.specs)
		models = append(models, m.model)
	}
	return &names, models
}

// module reads a used module once. It returns nil after a finding.
func (u *users) module(use *config.Use, list *diag.List) *usedModule {
	if m := u.loaded[use.Module]; m != nil {
		return m
	}
	if slices.Contains(u.active, use.Module) {
		list.Add(diag.BadUse, use.Span, "modules use each other: %s", strings.Join(append(u.active, use.Module), ", "))
		return nil
	}
	found, err := gomod.Find(u.root, use.Module)
	if err != nil {
		notFound(use, err, list)
		return nil
	}
	u.active = append(u.active, use.Module)
	defer func() { u.active = u.active[:len(u.active)-1] }()
	m := &usedModule{Module: found}
	if dir, err := filepath.Rel(u.root, found.Dir); err == nil {
		m.dir = filepath.ToSlash(dir)
		u.sums.addFiles(u.root, path.Join(m.dir, config.Name), path.Join(m.dir, "go.mod"))
	}
	var own diag.List
	if err := u.read(m, &own); err != nil {
		notUsable(use, m, err, list)
		return nil
	}
	if !own.Empty() {
		first := own.Sorted()[0]
		list.Add(diag.BadUsedSpec, use.Span, "%s has %s, the first: %s: %s", found.Name(), english.Count(own.Len(), "finding"), first.Code, first.Message).
			See(first.Span, "it is here").Hinted("run opgen check in the folder that go list -m -f {{.Dir}} %s prints", use.Module)
		return nil
	}
	u.loaded[use.Module] = m
	return m
}

// notFound reports a module that the go command does not find.
func notFound(use *config.Use, err error, list *diag.List) {
	d := list.Add(diag.BadUse, use.Span, "module %s cannot be found: %v", use.Module, err)
	switch {
	case errors.Is(err, gomod.ErrNoGo):
		d.Hinted("opgen asks the go command where modules are; install Go, or add its folder to PATH")
	case errors.Is(err, gomod.ErrUnknown):
		d.Hinted("run go get %s", use.Module)
	default:
		d.Hinted("run go get %s, or go mod download", use.Module)
	}
}

// notUsable reports a module that has no specs.
func notUsable(use *config.Use, m *usedModule, err error, list *diag.List) {
	switch {
	case m.config == nil && errors.Is(err, fs.ErrNotExist):
		list.Add(diag.BadUse, use.Span, "%s has no %s, so it has no specs", m.Name(), config.Name)
	default:
		list.Add(diag.BadUse, use.Span, "%s: %v", m.Name(), err)
	}
}

// read reads the specs of a module. Its findings go to list; the error is one of files.
func (u *users) read(m *usedModule, list *diag.List) error {
	if _, err := os.Stat(filepath.Join(m.Dir, config.Name)); err != nil {
		return err
	}
	c, err := config.LoadAs(m.Dir, path.Join(m.Name(), config.Name), list)
	if err != nil || c == nil || !list.Empty() {
		return err
	}
	m.config = c
	switch info, err := os.Stat(filepath.Join(m.Dir, filepath.FromSlash(c.Output))); {
	case slices.Contains(strings.Split(c.Output, "/"), "internal"):
		return errors.New("its generated packages are in the folder " + c.Output + ", which other modules cannot import")
	case err != nil || !info.IsDir():
		return errors.New("it has no generated packages in its folder " + c.Output + "; run opgen generate there")
	}
	others, models := u.names(c, list)
	if !list.Empty() {
		return nil
	}
	inputs, err := ReadSpecs(c)
	if err != nil {
		return err
	}
	for i, in := range inputs {
		u.sums[path.Join(m.dir, in.Path)] = sum([]byte(in.Text))
		inputs[i].Path = path.Join(m.Name(), inputs[i].Path)
	}
	checked := readAll(inputs, specModule(c), others, list)
	if !list.Empty() {
		return nil
	}
	m.specs = slices.Clone(checked.Enums)
	for _, sc := range checked.Scopes {
		m.specs = append(m.specs, sc.Spec)
	}
	m.model = model.Resolve(checked, models...)
	return nil
}

// specModule describes a module to its specs. The operators of the module that has the runtime are named
// without a prefix.
func specModule(c *config.Config) *spec.Module {
	m := &spec.Module{Path: c.Module.Path, Generated: c.GeneratedImport}
	if strings.HasPrefix(c.Runtime, m.Path+"/") {
		m.Path = ""
	}
	return m
}

// trackUsed adds to a snapshot what the project depends on besides its own files, if it uses modules. It
// returns false if one of them has no path relative to the project.
func (p *Project) trackUsed(s *snapshot) bool {
	if len(p.uses) == 0 {
		return true
	}
	s.Uses = &usedFiles{Settings: goSettings(p.Config.Root)}
	for _, name := range choosing(p.Config.Root) {
		if _, read := p.sums[name]; read {
			s.Uses.Names = append(s.Uses.Names, name)
		}
	}
	for _, m := range p.uses {
		if m.dir == "" {
			return false
		}
		s.Uses.Names = append(s.Uses.Names, path.Join(m.dir, config.Name), path.Join(m.dir, "go.mod"))
		s.Folders = append(s.Folders, folder{Path: path.Join(m.dir, m.config.Specs), Ext: ".toml"})
	}
	return true
}

// choosing lists the files, besides go.mod, by which the go command chooses modules. Not all of them need be
// there.
func choosing(root string) []string {
	files := []string{"go.sum"}
	if work := workspace(root); work != "" {
		files = append(files, filepath.ToSlash(work))
	}
	return files
}

// goSettings returns what decides, besides files, which modules the go command chooses.
func goSettings(root string) string {
	return strings.Join([]string{os.Getenv("GOFLAGS"), os.Getenv("GOMODCACHE"), os.Getenv("GOPATH"), os.Getenv("GOWORK"), workspace(root)}, "\n")
}

// workspace returns the path of the go.work that applies to a module, relative to its root; "" if there is
// none.
func workspace(root string) string {
	file := os.Getenv("GOWORK")
	switch file {
	case "off":
		return ""
	case "":
		for dir := root; ; dir = filepath.Dir(dir) {
			file = filepath.Join(dir, "go.work")
			if _, err := os.Stat(file); err == nil {
				break
			}
			if dir == filepath.Dir(dir) {
				return ""
			}
		}
	}
	rel, err := filepath.Rel(root, file)
	if err != nil {
		return file
	}
	return rel
}
