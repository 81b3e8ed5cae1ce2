package driver

import "github.com/opgen/opgen/internal/artifact"

// Files returns the generated files of the project, without pages and those of plug-ins, sorted by path. The
// project must have a module.
func (p *Project) Files() ([]artifact.Artifact, error) { return emitAll(p.Config, p.Module()) }
