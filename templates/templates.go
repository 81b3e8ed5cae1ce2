// Package templates holds the texts from which opgen new makes a spec and a kernel, and opgen generate the
// pages about operators.
package templates

import "embed"

// FS holds the templates, in the syntax of text/template.
//
//go:embed *.tmpl
var FS embed.FS
