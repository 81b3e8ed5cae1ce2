// Package editor drives the language server with Neovim's client. Its tests have the build tag neovim.
package editor
