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
	for pkg, a := range map[string]*analysis.Analyzer{"plain": plainDataAnalyzer, "rawuse": rawAnalyzer, "keep": keptAnalyzer, "passed": keptAnalyzer, "changed": changedAnalyzer, "example.com/nn/runtime/kernels": keptAnalyzer} {
		t.Run(pkg, func(t *testing.T) {
			t.Parallel()
			analysistest.Run(t, analysistest.TestData(), a, pkg)
		})
	}
	// The runtime itself needs no reasons.
	analysistest.Run(t, analysistest.TestData(), rawAnalyzer, "github.com/opgen/opgen/runtime/raw")
}
