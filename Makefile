# Everything here needs Go alone; race also needs a C compiler.

GO ?= go
export CGO_ENABLED ?= 0

.PHONY: run generate test race bench fuzz conform lint deadcode

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
# Without a limit of its own, shrinking one interesting input may take all that time; a limit in seconds
# starts the process anew each time it is reached.
FUZZFLAGS = -fuzztime $(FUZZTIME) -fuzzminimizetime 20x
fuzz:
	$(GO) test -run '^$$' -fuzz FuzzParse $(FUZZFLAGS) ./internal/source
	$(GO) test -run '^$$' -fuzz FuzzSpec $(FUZZFLAGS) ./internal/driver
	$(GO) test -run '^$$' -fuzz FuzzDecode $(FUZZFLAGS) ./internal/safetensors

# CASES is a folder of conformance cases.
CASES ?= internal/conform/testdata
conform:
	$(GO) run ./cmd/opconform $(CASES)

# lint checks the format of hand-written and generated code.
lint:
	test -z "$$(gofmt -l . | tee /dev/stderr)"

# deadcode lists functions that nothing calls.
deadcode:
	$(GO) tool deadcode -test ./...
