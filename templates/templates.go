// Package templates holds the templates of specs, kernels and reference pages. The command opgen new makes a spec and,
// if asked to, kernels from them, and opgen generate makes the reference pages of operators.
package templates

import "embed"

// FS holds the templates, in the syntax of text/template.
//
//go:embed *.tmpl
var FS embed.FS
