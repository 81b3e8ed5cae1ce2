# Everything here needs Go alone; race also needs a C compiler.

GO ?= go
export CGO_ENABLED ?= 0

.PHONY: run generate test race property bench fuzz conform lint

# run brings generated code up to date and trains the example classifier.
run: generate
	$(GO) run ./examples/digits

generate:
	@$(GO) tool opgen generate

# test runs all tests, after checking that what is checked in is what the specs generate.
test:
	$(GO) tool opgen diff
	$(GO) vet ./...
	$(GO) test ./...

race:
	CGO_ENABLED=1 $(GO) test -race ./runtime/... ./kernels/... ./internal/...

# property runs more random plans than test does: on 1 to 8 workers, and broken in every way.
property:
	CGO_ENABLED=1 $(GO) test -race -timeout 60m -run 'TestParallelEqualsSequential|TestCheckKillsMutants' ./runtime/plan -graphs 10000 -mutants 2000

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# FUZZTIME is how long each fuzz target runs.
FUZZTIME ?= 30s
fuzz:
	$(GO) test -run '^$$' -fuzz FuzzParse -fuzztime $(FUZZTIME) ./internal/source
	$(GO) test -run '^$$' -fuzz FuzzSpec -fuzztime $(FUZZTIME) ./internal/driver

# CASES is a folder of conformance cases.
CASES ?= internal/conform/testdata/ops
conform:
	$(GO) run ./cmd/opconform $(CASES)
