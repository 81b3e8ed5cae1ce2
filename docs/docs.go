// Package docs holds pages of the documentation that programs show parts of.
package docs

import _ "embed"

// Spec is the page about the spec language.
//
//go:embed spec.md
var Spec string
