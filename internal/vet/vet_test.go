package vet

import (
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

func TestAnalyzers(t *testing.T) {
	if err := analysis.Validate(Analyzers); err != nil {
		t.Fatal(err)
	}
	for pkg, a := range map[string]*analysis.Analyzer{"plain": PlainData, "rawuse": Raw, "keep": Kept, "example.com/nn/runtime/kernels": Kept} {
		t.Run(pkg, func(t *testing.T) {
			t.Parallel()
			analysistest.Run(t, analysistest.TestData(), a, pkg)
		})
	}
	// The runtime itself needs no reasons.
	analysistest.Run(t, analysistest.TestData(), Raw, "github.com/opgen/opgen/runtime/raw")
}
