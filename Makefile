# Everything here needs Go alone; race also needs a C compiler.

GO ?= go
export CGO_ENABLED ?= 0

.PHONY: run generate test race bench peers fuzz conform lint

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

bench: peers
	$(GO) test -run '^$$' -bench . -benchmem ./...

# peers measures the executor beside oneTBB and StarPU, where they and a C++ compiler are installed: empty
# tasks, and tasks of about 150 ns.
peers:
	$(GO) run ./test/peers
	$(GO) run ./test/peers -turns 140 -graph layered
	$(GO) run ./test/peers -turns 140 -graph wavefront

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
