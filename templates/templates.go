// Package templates holds the templates of opgen.toml, specs, kernels and reference pages. The command opgen
// init makes opgen.toml from them, opgen new makes a spec and, if asked to, kernels, and opgen generate makes
// the reference pages of operators.
package templates

import "embed"

// FS holds the templates, in the syntax of text/template.
//
//go:embed *.tmpl
var FS embed.FS
