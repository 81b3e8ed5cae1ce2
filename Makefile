# Everything here needs Go alone; race also needs a C compiler, and run-mpi and mpi an MPI.

GO ?= go
export CGO_ENABLED ?= 0

.PHONY: run run-mpi mpi mpi-faults mpi-hosts generate test judge race property bench bench-once peers bench-peers fuzz kill conform simd ulp lint deadcode mutate mutate-code mutate-kit mutate-maker mutate-formulas mutate-facts mutate-judge slips edits tutorial release cuda torch gpu-check tiles bench-size plan-mutants coverage-table vuln sbom bench-portable platforms arm64 page editor node-packages onnx-runtime onnx-speed

# Packages that are compiled without the path of their folder are found in the build cache by all tests that compile copies
# and other modules. The command go tool does not know the flag and compiles opgen once more, so go run runs it here.
# Programs for tests have no tables for debuggers, which take the linker a third of its time.
export GOFLAGS += -trimpath -ldflags=-w

# run brings generated code up to date and trains the example classifier.
run: generate
	@echo "Go compiles the example, which takes up to a minute at the first time."
	$(GO) run ./examples/digits -page digits.html

# run-mpi trains the example on two ranks of MPI, or says what is missing where MPI is not installed.
run-mpi: generate
	@GO=$(GO) LEAVE_OUT=$(LEAVE_OUT) .ci/mpi run

# mpi tests ranks of MPI, with MPICH and with Open MPI, which it installs from Debian if it may: random programs, and the losses of both examples on
# EXAMPLES_ON ranks, bit for bit. It takes some minutes. mpi-faults kills and stops ranks, and fills a small disk, at FAULTS random moments each: the job ends within
# 10 s. It also slows ranks, which changes no bit. The disk takes root.
FAULTS ?= 5
EXAMPLES_ON ?= 1 2 3 4
mpi:
	@GO=$(GO) LEAVE_OUT=$(LEAVE_OUT) RANKS="$(EXAMPLES_ON)" .ci/mpi test
mpi-faults:
	@GO=$(GO) LEAVE_OUT=$(LEAVE_OUT) FAULTS=$(FAULTS) .ci/mpi faults

# mpi-hosts trains digits on three hosts, which are network namespaces of this machine. At FAULTS random moments each, it cuts the link of one, cuts it for a
# short time, and makes it slow. It takes root, iproute2 and Open MPI. It also counts how many of RUNS runs of a small program in C do not end there, with each MPI.
RUNS ?= 4
mpi-hosts:
	@GO=$(GO) LEAVE_OUT=$(LEAVE_OUT) FAULTS=$(FAULTS) RUNS=$(RUNS) .ci/mpi hosts

generate:
	@echo "Go compiles opgen, unless nothing changed; opgen brings generated code up to date."
	@$(GO) run ./cmd/opgen generate

# Compilers and tests allocate much that dies soon. Fewer collections take a quarter less time, and some hundred MiB more, up to a limit.
test mutate-kit mutate-maker mutate-formulas mutate-facts slips: export GOGC := 400
test mutate-kit mutate-maker mutate-formulas mutate-facts slips: export GOMEMLIMIT := 3GiB

# test runs all tests, after checking that what is checked in is what the specs generate. Lint has vet look at code, which takes as long as compiling it.
test:
	$(GO) run ./cmd/opgen diff
	$(GO) test -vet=off ./...

# coverage-table prints which tests run which tasks of the catalogue, in which element types.
coverage-table:
	$(GO) test ./kernels -count 1 -update
	@cat docs/tests.md

# race runs tests under the race detector, with -short: tests that compute with one goroutine, in which it finds nothing, take smaller samples.
# It leaves out commands, examples and tools that start no goroutines, or only those that wait for a process: the packages that they use are there.
# It leaves out optest, whose checks run in kernels.
# Of the packages below internal, it leaves out some that start none, and whose tests take long: their checks of specs run in internal/driver.
race:
	CGO_ENABLED=1 $(GO) test -race -short -vet=off -timeout 30m . ./runtime/... ./kernels/... ./generate/... ./cmd/opconform \
		$$($(GO) list ./internal/... | grep -v -E '/internal/(release|modproxy|breaking|explain|randomformula|oracle|format)$$')

# property runs GRAPHS random plans on 1 to 8 workers, and breaks MUTANTS of them in every way: more than test
# does. It runs RANKS random programs on 1 to 4 ranks that are late, and breaks as many parts of plans. It runs TILINGS random graphs of the catalogue, and as many by hand, whole and in tiles of random extents, by all executors. It also
# compares loops with the interpreter on more tensors, kernels with formulas on larger ones, and with what formulas mean at more random uses. It takes some minutes.
GRAPHS ?= 10000
MUTANTS ?= 2000
TILINGS ?= 1000
RANKS ?= 1000
property:
	CGO_ENABLED=1 $(GO) test -race -timeout 60m -run '^TestRandomRanks$$' . -rank-programs $(RANKS)
	$(GO) test -timeout 60m -run '^TestMutants$$' ./runtime/plan/project -part-mutants $(RANKS)
	CGO_ENABLED=1 $(GO) test -race -timeout 60m -run 'TestParallelEqualsSequential|TestCheckKillsMutants|TestRandomTiles' ./runtime/planner \
		-graphs $(GRAPHS) -mutants $(MUTANTS) -tile-graphs $(TILINGS)
	CGO_ENABLED=1 $(GO) test -race -timeout 60m -run '^TestRandomGraphs$$' ./runtime/taskgraph -graphs $(TILINGS)
	$(GO) test -timeout 30m -run '^TestLoops' ./formula -all-loops
	$(GO) test -timeout 30m -run '^TestLargeExtents' ./kernels -largest 4000
	$(GO) test -timeout 30m -run '^TestRandomUses' ./optest -random-uses 4

# plan-mutants changes plans in JSON in PLANS places, one at a time: a number, a string, an element or a list. It fails if a
# mutant is neither refused nor computes the same. It takes some minutes.
PLANS ?= 20000
plan-mutants:
	$(GO) test ./runtime/cpu -count 1 -v -timeout 60m -run '^TestF5Mutants$$' -plan-mutants $(PLANS) -plan-seed $(SEED)

# go test builds the programs of all packages before the first benchmark, so packages without one are left out, and less of the disk is taken.
BENCHMARKED = $(shell grep -rl --include='*_test.go' '^func Benchmark' . | grep -v /testdata/ | xargs -n1 dirname | sort -u)

bench: peers
	$(GO) test -run '^$$' -bench . -benchmem -timeout 60m $(BENCHMARKED)

# bench-once runs each benchmark once, so that all of them work, and builds the program of bench-peers with the operators of test/formulas.
bench-once:
	$(GO) test -timeout 30m -run '^$$' -bench . -benchtime 1x $(BENCHMARKED)
	$(GO) test -count 1 -timeout 30m -run '^TestFormulas$$' ./test/benchpeers -with-formulas

# peers measures the executor beside oneTBB and StarPU, where they and a C++ compiler are installed: empty
# tasks, and tasks of about 150 ns.
peers:
	$(GO) run ./runtime/internal/peers
	$(GO) run ./runtime/internal/peers -turns 140 -graph layered
	$(GO) run ./runtime/internal/peers -turns 140 -graph wavefront

# bench-peers measures operators, products of matrices and training steps beside PyTorch, OpenBLAS and plain C, where they are installed,
# and rewrites docs/performance-peers.md with its plot. It takes some minutes. ROWS is a regular expression for the rows that are
# measured; then the page is only printed. THREADS is how many threads both sides have.
ROWS ?=
THREADS ?= 1
bench-peers:
	$(GO) run ./test/benchpeers -threads $(THREADS) $(if $(ROWS),-only '$(ROWS)',-write docs)

# FUZZ is how many rounds each fuzz target runs; a round takes about ten seconds. A round is a number of executions and not a time,
# because go test may fail a target whose time is up (golang.org/issue/75804). PART divides it, for slow machines.
FUZZ ?= 3
PART ?= 1
#
# Each package with targets is compiled once, for all of its targets. Then each target runs on one processor, as many side by side as there are
# processors. Without a limit of its own, shrinking one interesting input may take all the executions; a limit in seconds starts the process
# anew each time it is reached.
#
# The longest come first. A target is written as TARGET,FOLDER,EXECUTIONS of a round.
fuzzing = FuzzLoop,formula/internal/jit,10000 FuzzLoad,runtime/cpu,40000 FuzzNested,internal/driver,300 FuzzWide,internal/driver,40 FuzzSpecSet,internal/driver,6000 FuzzSpec,internal/driver,6000 \
	FuzzExamples,internal/driver,6000 FuzzSetsAgree,internal/base/simd,6000 FuzzVerify,runtime/plan/verify,120000 FuzzParse,internal/source,250000 \
	FuzzFile,internal/format,200000 FuzzEval,internal/example,40000 FuzzParseFormula,formula/expr,250000 FuzzFormula,formula/check,60000 \
	FuzzProgram,formula,20000 FuzzDecode,runtime/attr,300000 FuzzDecode,runtime/safetensors,300000 FuzzDecode,runtime/plan,200000 \
	FuzzInsert,runtime/onnx,20000 FuzzParse,runtime/onnx/mapping,250000 FuzzModel,internal/base/onnxpb,150000
comma := ,
part = $(word $(1),$(subst $(comma), ,$(2)))
fuzzers = $(patsubst %,bin/fuzz/%.test,$(sort $(foreach f,$(fuzzing),$(call part,2,$(f)))))
fuzz: $(fuzzers)
	@$(MAKE) --no-print-directory --output-sync=target -j $$(getconf _NPROCESSORS_ONLN) $(addprefix fuzz@,$(fuzzing))

# fuzz@TARGET,FOLDER,EXECUTIONS runs a target of fuzz. Inputs that lead to new code are kept where the go command keeps them.
.PHONY: $(addprefix fuzz@,$(fuzzing))
$(addprefix fuzz@,$(fuzzing)): fuzz@%:
	cd $(call part,2,$*) && $(CURDIR)/bin/fuzz/$(call part,2,$*).test -test.run '^$$' -test.fuzz '^$(call part,1,$*)$$' -test.fuzztime $$(($(call part,3,$*) * $(FUZZ) / $(PART) + 1))x \
		-test.fuzzminimizetime 20x -test.parallel 1 -test.timeout 0 -test.paniconexit0 -test.fuzzcachedir "$$($(GO) env GOCACHE)/fuzz/$$($(GO) list .)"

.PHONY: $(fuzzers)
$(fuzzers): bin/fuzz/%.test:
	$(GO) test -c -vet=off -fuzz . -o $@ ./$*

# kill kills KILLS runs of opgen generate, and runs as many on full disks; half as many of opgen new. In OVERLAPS rounds it lets two
# or three runs overlap. No file may be torn, lost or stale. It also kills KILLS trainings with checkpoints, which must go on to the same
# bits, and KILLS of which half are interrupted by a signal that they catch. It takes some seconds for ten rounds.
KILLS ?= 500
OVERLAPS ?= 300
kill:
	$(GO) test ./cmd/opgen -count 1 -timeout 60m -run '^(TestKill|TestOverlap)$$' -kill $(KILLS) -two $(OVERLAPS)
	$(GO) test ./examples/digits -count 1 -timeout 60m -run '^TestKill$$' -kills $(KILLS)
	$(GO) test ./examples/charlm -count 1 -timeout 60m -run '^TestInterrupt$$' -interrupts $(KILLS)

# CASES is a folder of conformance cases. Formulas run with each set of instructions that the processor has, without loops in machine code, and in small
# blocks. Random formulas run beside the interpreter. Where sums that are equal but for their order are ties in one of the two alone, the meaning of the
# formula says whether rounding explains the difference.
CASES ?= runtime/conform/testdata
conform:
	$(GO) run ./cmd/opconform $(CASES)
	for v in OPGEN_SIMD=avx512 OPGEN_SIMD=avx2 OPGEN_SIMD=go OPGEN_JIT=off OPGEN_BLOCKS=small; do env $$v $(GO) run ./cmd/opconform -kernels formula $(CASES) || exit 1; done
	$(GO) run ./cmd/opconform -kernels formula -dtype float64 $(CASES)
	$(GO) run ./cmd/opconform -kernels reference -dtype float64 $(CASES)
	$(GO) test ./formula -count 1 -run '^TestRandomLoops$$' -random-formulas 2500 -random-seed 2

# bench-portable measures kernels, strips and products in portable code, products beside three loops in Go. Without OPGEN_SIMD and OPGEN_JIT, the same benchmarks
# measure what the processor has.
bench-portable:
	OPGEN_SIMD=go OPGEN_JIT=off $(GO) test -run '^$$' -bench 'BenchmarkMultiply|BenchmarkStrips/go' -cpu 1 ./runtime/blas ./internal/base/simd
	OPGEN_SIMD=go OPGEN_JIT=off $(GO) test -run '^$$' -bench 'BenchmarkKernels/.*/.*/catalogue' -benchtime 3x -cpu 1 ./kernels

# platforms checks the types of all packages for all systems and processors of docs/platforms.md, which finds what does not compile there in some seconds for
# each, and runs the tests of the core on 386.
platforms:
	$(GO) run ./test/platforms $$(sed -n 's/^| `\([a-z0-9]*\/[a-z0-9]*\)` .*/\1/p' docs/platforms.md)
	GO=$(GO) LEAVE_OUT=$(LEAVE_OUT) .ci/386

# arm64 runs tests of what computes for linux/arm64 in the emulator qemu, which it installs if it may, and trains two models to the same bits there and here. It
# takes some minutes.
arm64:
	GO=$(GO) LEAVE_OUT=$(LEAVE_OUT) .ci/arm64

# simd checks that the assembly of package simd is what its generator makes, that compilers fuse no operations of the
# portable functions, and that products are right with each set of instructions. The generator is a module of its own, and needs the module avo.
simd:
	cd internal/base/simd/asm && $(GO) vet . && $(GO) test -count 1 .
	for v in go avx2 avx512; do OPGEN_SIMD=$$v $(GO) test -vet=off -count 1 ./runtime/blas || exit 1; done

# ulp compares elementary functions of package simd with those of package math for all float32 numbers. It takes some
# minutes.
ulp:
	$(GO) test ./internal/base/simd -count 1 -v -timeout 3h -run '^TestAccuracy32$$' -all

# lint checks the format of hand-written and generated code, and of specs, and vets code.
lint:
	test -z "$$(gofmt -l . | tee -a /dev/stderr)"
	$(GO) vet ./...
	$(GO) run ./cmd/opgen fmt -l

# deadcode fails if there are functions that no program, no example and no test calls, and lists them.
deadcode:
	test -z "$$($(GO) run golang.org/x/tools/cmd/deadcode -test ./... | tee -a /dev/stderr)"

# mutate changes the kernels in 200 small ways, one at a time, and lists those that no test notices. It
# takes about a quarter of an hour.
mutate:
	$(GO) run ./test/mutate

# mutate-code changes the generator and the runtime in MUTATIONS small ways, one at a time, and fails if tests notice less than
# 90 % of them. It takes about an hour for 400. ONLY is a regular expression for the names of the files that change.
MUTATIONS ?= 400
ONLY ?=
mutate-code:
	$(GO) run ./test/mutate -code -n $(MUTATIONS) -seed $(SEED) -only '$(ONLY)'

# mutate-kit changes the kernels of a module outside of the tree in 100 small ways, one at a time, and fails if package optest notices
# less than 95 % of them. It takes about a minute.
mutate-kit:
	$(GO) run ./test/mutate -kit -n 100 -seed $(SEED)

# mutate-maker changes what makes plans in every way that test/mutate knows, one at a time, and fails if the verifier
# accepts a wrong plan. It takes some minutes. A mutant with which the planner does not come to an end is killed by its processor time.
# With EVERY, it makes only the mutants whose number is a multiple of that, and those written by hand.
EVERY ?= 1
mutate-maker:
	$(GO) run ./test/mutate -maker -every $(EVERY)

# mutate-formulas changes the formulas of specs in COUNT small ways, one at a time; 0 means in all. It fails if no check
# and no example notices a change that docs/mutants.md does not name. It takes less than a minute, or some minutes for all.
# OF names the operators, separated by commas.
COUNT ?= 2000
SEED ?= 1
OF ?=
mutate-formulas:
	$(GO) test ./optest -count 1 -v -timeout 60m -run '^TestFormulaMutants$$' -formula-mutants $(COUNT) -formula-seed $(SEED) -formula-of "$(OF)"

# mutate-facts changes FACTS facts of specs, stated ones and those that follow from formulas, one at a time; 0 means all. It
# fails if neither opgen check nor a test of kernels notices a change that docs/mutants.md does not name. It takes some
# minutes.
FACTS ?= 100
mutate-facts:
	$(GO) run ./test/facts -count $(FACTS) -seed $(SEED)

# slips makes SLIPS copies of the catalogue with one to four slips in one to three specs. It fails if opgen panics, hangs or
# ends with status 2, or if what opgen accepts does not compile. It takes less than three minutes.
SLIPS ?= 300
slips:
	$(GO) run ./test/slips -count $(SLIPS) -seed $(SEED)

# edits makes EDITS random edits of the specs of a module, and compares after each what the language server answers with what it
# answers after a fresh start. It takes a minute.
EDITS ?= 10000
edits:
	$(GO) test ./internal/workspace -count 1 -timeout 30m -run '^TestEdits$$' -edits $(EDITS) -seed $(SEED)

# tutorial does docs/tutorial.md in an empty module, with a release that a folder serves as a module proxy, and prints the processor
# time that its commands take. The build cache is that of the machine: with an empty one, what the tutorial
# uses is compiled first, which takes about half a minute more.
tutorial:
	$(GO) test ./docs -count 1 -v -run '^TestTutorial$$' -proxy

# release writes the files as they are as a release into bin/proxy, from which the go command installs it: GOPROXY=file://...
release:
	$(GO) run ./internal/release bin/proxy

# cuda tests the CUDA backend on an emulator of the driver, and compiles device code for two architectures. It keeps what it compiles for the
# emulator in opgen/emulator of the user's cache folder, for two weeks. It takes g++ and the CUDA
# toolkit, which it installs from Debian's section non-free if it may. Without them it fails, or a line says what is left out with LEAVE_OUT=1.
cuda:
	GO=$(GO) LEAVE_OUT=$(LEAVE_OUT) .ci/cuda

# torch compares the catalogue with PyTorch: N random cases of single operators, forward and gradients, and GRAPHS_BESIDE_TORCH random
# graphs. It takes a Python with PyTorch 1.13 or newer, PYTHON or the first of python3 and Debian's, and installs Debian's python3-torch if
# there is none and it may, which takes about a minute and a half; without one it fails. Cases that differ are made smaller and saved in bin/torch. OF names the operators, separated by commas.
N ?= 1000
GRAPHS_BESIDE_TORCH ?= $(shell expr $(N) / 4)
PYTHON ?=
torch:
	GO=$(GO) LEAVE_OUT=$(LEAVE_OUT) .ci/torch -cases $(N) -graphs $(GRAPHS_BESIDE_TORCH) -seed $(SEED) -of "$(OF)" -python "$(PYTHON)"

# page opens pages of plans in Chromium, which draws them without a window. It installs Debian's chromium if there is none and it may.
page:
	GO=$(GO) LEAVE_OUT=$(LEAVE_OUT) .ci/page

# editor lets Neovim's own client do a session of an hour with the language server, once so that each key waits for findings and once beside the catalogue, PACE times
# faster than it is typed, and EDITS_IN_NEOVIM random edits. It compares what Neovim shows with opgen check. It installs Debian's neovim if there is none and it may.
PACE ?= 60
EDITS_IN_NEOVIM ?= 300
editor:
	GO=$(GO) LEAVE_OUT=$(LEAVE_OUT) .ci/editor -pace $(PACE) -edits $(EDITS_IN_NEOVIM) -seed $(SEED)

# onnx-runtime runs files of ONNX that were saved here with ONNX Runtime, of which it installs the npm package: examples of the catalogue, networks
# that people use, and those of the examples after a short training. It also compares models by hand and random graphs, here and there. OPGEN_ONNX is a folder
# with further networks.
onnx-runtime:
	GO=$(GO) LEAVE_OUT=$(LEAVE_OUT) .ci/onnx

# onnx-speed compares times and memory of networks with those of ONNX Runtime, with 1 and 2 threads. OPGEN_ONNX is a folder with further networks.
onnx-speed:
	GO=$(GO) LEAVE_OUT=$(LEAVE_OUT) .ci/onnx -run '^$$' -bench BesideRuntime -benchtime 1x

# gpu-check makes bin/opgen-gpu-check.sh, an archive that unpacks itself and checks the CUDA backend on a machine with a GPU: it needs neither
# Go nor a network nor the CUDA toolkit there, and takes at most 8 minutes. Making it takes what make cuda takes, some minutes on the emulator
# and a quarter of an hour to compile device code ahead for two architectures. Later ones compile only what changed.
gpu-check:
	$(GO) run ./internal/gpucheck make

# Builds, verifies and loads plans of a million tiles on one processor, as grids and as tasks. Fails over 10 s of
# processor time or 1 GiB.
tiles:
	GOMAXPROCS=1 $(GO) run ./test/tiles
	GOMAXPROCS=1 $(GO) run ./test/tiles -workers 8
	GOMAXPROCS=1 $(GO) run ./test/tiles -grids -workers 8

# bench-size builds, plans, schedules, verifies and loads graphs of 100,000 and 1,000,000 nodes of many shapes on one
# processor, and prints the seconds of processor time and the peak memory of each. It takes about half an hour and 8 GiB.
SIZES ?= 100000,1000000
bench-size:
	GOMAXPROCS=1 $(GO) run ./test/size -n $(SIZES)

# node-packages writes a package for each node test of ONNX that passes, compiles them and compares them with what package onnx loads. It takes some
# minutes; make test does so for one test of each operator.
node-packages:
	$(GO) test ./test/onnx -count 1 -v -timeout 60m -run '^TestNodePackages$$' -every-node

# vuln looks for known vulnerabilities of what is called, and fails if there are any. The tool and its database come from the
# network. Without it, a line says so, and nothing fails.
GOVULNCHECK ?= golang.org/x/vuln/cmd/govulncheck@v1.9.0
VULNDB ?= https://vuln.go.dev
vuln:
	$(GO) run ./internal/vuln -tool $(GOVULNCHECK) -db $(VULNDB)

# sbom writes the bill of materials of the command opgen to bin/opgen.cdx.json.
sbom:
	@mkdir -p bin
	$(GO) build -o bin/opgen ./cmd/opgen
	$(GO) run ./internal/sbom bin/opgen > bin/opgen.cdx.json

# judge writes FORMULAS random formulas and compares what they compute with an oracle of their meaning: with each set of instructions, without
# machine code, in small blocks, with several workers, beside elementwise operators, forward and backward. It fails if one is wrong, fails or ends
# its process, and shows each with its seed, as small as it can be made. It takes about a minute of a processor for 1,000. It also judges NETWORKS
# random graphs of the catalogue, operator by operator, and KINDS formulas of each kind in which an implementation has been wrong.
FORMULAS ?= 10000
NETWORKS ?= 300
KINDS ?= 100
judge:
	@mkdir -p bin
	$(GO) build -o bin/judge ./test/judge
	bin/judge -formulas $(FORMULAS) -seed $(SEED)
	bin/judge -kind all -formulas $(KINDS) -seed $(SEED)
	$(GO) test -count 1 -timeout 30m -run '^(TestCorpus|TestDivided)$$' ./test/judge -everywhere -divided 150
	$(GO) test -count 1 -timeout 30m -run '^TestRandom' ./formula -random-formulas 400 -random-gradients 1500
	$(GO) test -count 1 -timeout 30m -run '^TestSecondDerivatives$$' ./kernels -second
	$(GO) run ./test/judge/graphs -graphs $(NETWORKS) -seed $(SEED)

# mutate-judge builds the judge with each of some 20 faults in the compiler of formulas, and fails if it does not find one within the share of
# formulas that continuous integration judges. A fault takes some seconds. With EVERY, it takes only each of so many faults, and CHOSEN says which.
CHOSEN ?= 0
mutate-judge:
	@mkdir -p bin
	$(GO) build -o bin/judge ./test/judge
	bin/judge -faults -every $(EVERY) -chosen $(CHOSEN) -seed $(SEED)
