# Everything here needs Go alone; race also needs a C compiler.

GO ?= go
export CGO_ENABLED ?= 0

.PHONY: run generate test race bench fuzz conform lint mutate

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

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# FUZZTIME is how long each fuzz target runs.
FUZZTIME ?= 30s
# Without a limit of its own, shrinking one interesting input may take all that time.
FUZZFLAGS = -fuzztime $(FUZZTIME) -fuzzminimizetime 1s
fuzz:
	$(GO) test -run '^$$' -fuzz FuzzParse $(FUZZFLAGS) ./internal/source
	$(GO) test -run '^$$' -fuzz FuzzSpec $(FUZZFLAGS) ./internal/driver

# CASES is a folder of conformance cases.
CASES ?= internal/conform/testdata
conform:
	$(GO) run ./cmd/opconform $(CASES)

# mutate changes the kernels in 200 small ways, one at a time, and lists those that no test notices. It
# takes about a quarter of an hour.
mutate:
	$(GO) run ./test/mutate
