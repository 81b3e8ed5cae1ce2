// Package version names the release.
package version

// Version is the version of opgen, without a leading v. The first release in CHANGELOG.md has this number.
const Version = "0.1.0"
