// Package version names the release.
package version

// Version is the version of opgen, without a leading v. The first release in CHANGELOG.md has this number.
const Version = "0.1.0"

// Module is the path of the module that has the command opgen, the runtime and the catalogue.
const Module = "github.com/opgen/opgen"
