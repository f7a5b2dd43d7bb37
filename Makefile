# Sets up, tests and checks the project: `make help`. All that it needs to begin with is Python 3.11 or newer;
# `make tools` needs Go, `make shells` Debian and root, `make e2e` all three, and `make train` a Python that
# TensorFlow supports.

SHELL         := bash
.SHELLFLAGS   := -eu -o pipefail -c
MAKEFLAGS     += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help

VENV   := .venv
PYTHON := $(VENV)/bin/python
TFGEN  := $(VENV)/bin/tfgen
PIP    := $(PYTHON) -m pip --quiet --disable-pip-version-check
# Two processes: what the smallest machine has, and little slower than more on a larger one.
PYTEST := $(PYTHON) -m pytest --quiet -n 2 --dist worksteal $(PYTEST_ARGS)

# Most tests on real servers wait for a server, so there are more workers than processors: one for the node, one for
# each GitOps tool, and two for all other tests, the longest first (tests/e2e/conftest.py).
PYTEST_OF_SERVERS := $(PYTHON) -m pytest --quiet -n 5 --dist loadgroup --no-loadscope-reorder $(PYTEST_ARGS)

# Of the tests in a folder of its own, each is run by the target that provides what it needs.
PIP_ONLY := not train and not e2e and not long

# What the tests on real servers need: Debian's packages, and the programs that tests/e2e/tools/build builds.
PACKAGES := chromium containerd containernetworking-plugins iproute2 kmod nftables procps redis-server runc util-linux
SERVERS  := etcd kubernetes kwok coredns source-controller kustomize-controller helm-controller argocd training-operator

# What people type tfgen's commands into: Debian's packages.
SHELLS := bash fish zsh

# Installs those of some packages of Debian that are not there.
define install
missing=$$(for package in $(1); do dpkg --status $$package >/dev/null 2>&1 || echo $$package; done); \
[[ -z $$missing ]] || { apt-get update --quiet=2 && \
  apt-get install --yes --quiet=2 --no-install-recommends $$missing >/dev/null; }
endef

# Folders that `tfgen render` writes.
RENDERED := charts overlays .tfgen
EXAMPLES := $(sort $(wildcard examples/*/job.yaml))
# What the examples' programs import, at the versions that their images have.
REQUIREMENTS := $(sort $(wildcard examples/*/requirements.txt))

.PHONY: help
help: ## Lists the targets
	@sed -En 's/^([a-z0-9]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r target text; do \
	  printf '  make %-9s %s\n' "$$target" "$$text"; done
	@echo "  PYTEST_ARGS='-k chart -x' goes on to pytest."

# -- What people run --------------------------------------------------------------------------------------------

.PHONY: demo
demo: $(VENV)/.installed ## Renders examples/dist-mnist into demo/
	@$(TFGEN) render examples/dist-mnist/job.yaml --out demo >/dev/null
	@find demo -type f | LC_ALL=C sort
	@printf '\nGo on with one of these:\n\n  %s\n  %s\n\n' \
	  'helm install dist-mnist demo/charts/dist-mnist --namespace ml' 'kubectl apply -k demo/overlays/dist-mnist/dev'

.PHONY: test
test: $(VENV)/.with-test ## Runs the tests that need only pip (some are skipped for want of `make tools`)
	@$(PYTEST) -m '$(PIP_ONLY)'

.PHONY: long
long: $(VENV)/.with-test ## Runs the tests that need only pip and take seconds each: drawn jobs, installs, many committers
	@$(PYTEST) -m 'long and not train and not e2e'

.PHONY: check
check: lint test long docs drift ## Runs all that must hold before a commit

.PHONY: lint
lint: $(VENV)/.with-test $(VENV)/.with-e2e $(VENV)/.with-dev ## Checks format, style, spelling and types
	@$(PYTHON) -m ruff format --quiet --check
	@$(PYTHON) -m ruff check --quiet
	@$(PYTHON) -m codespell_lib *.md docs examples gen schemas
	@$(PYTHON) -m mypy --no-error-summary
	@$(PYTHON) -m mypy --no-error-summary -m tests.support.tools -m tests.conftest -p tests.e2e

.PHONY: docs
docs: $(VENV)/.with-docs ## Builds the documentation site into .docs/; each warning is an error
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --quiet

.PHONY: drift
drift: $(VENV)/.installed ## Fails where charts/ and overlays/ are not what the examples render to
	@fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; mkdir "$$fresh/.tfgen"; \
	cp .tfgen/*.json "$$fresh/.tfgen"; \
	$(TFGEN) render $(EXAMPLES) --out "$$fresh" >/dev/null; \
	for folder in $(RENDERED); do diff --recursive --unified "$$folder" "$$fresh/$$folder" && continue; \
	  echo "$$folder/ (---) is not what the examples render to (+++): run 'make render'" >&2; exit 1; done

.PHONY: render
render: $(VENV)/.installed ## Renders the examples into charts/ and overlays/
	@$(TFGEN) render --upgrade $(EXAMPLES)

.PHONY: schema
schema: $(VENV)/.installed ## Writes the derived schemas anew: of environments and of tfgen.yaml
	@$(PYTHON) -m derived_schemas

.PHONY: rooms
rooms: $(VENV)/.installed ## Draws docs/rooms.svg anew, the picture of which room imports which
	@$(PYTHON) -m house

.PHONY: pictures
pictures: $(VENV)/.installed ## Draws docs/dist-mnist.svg and docs/readme.svg again
	@$(TFGEN) draw examples/dist-mnist/job.yaml > docs/dist-mnist.svg
	@$(PYTHON) -m readme_picture

.PHONY: curves
curves: $(VENV)/.installed $(VENV)/.with-examples ## Trains examples, kills a task, and draws the loss into examples/*/curve.svg (minutes)
	@$(PYTHON) -m curves

.PHONY: cli
cli: $(VENV)/.installed ## Writes docs/cli.md from the parsers, and the references of job.yaml and tfgen.yaml from the schemas
	@$(PYTHON) -m cli_page
	@$(PYTHON) -m schema_page

.PHONY: format
format: $(VENV)/.with-dev ## Formats the code, and mends the style where that is safe
	@$(PYTHON) -m ruff format --quiet
	@$(PYTHON) -m ruff check --quiet --fix

.PHONY: tools
tools: ## Builds Helm, kustomize and kubeconform for the tests, at pinned versions (minutes, once)
	@tests/e2e/tools/build helm helm-3.14 kustomize kubeconform

.PHONY: shells
shells: ## Installs the shells whose completion is tested (Debian, as root)
	@$(call install,$(SHELLS))

.PHONY: editors
editors: $(VENV)/.with-test ## Tests the schema of job.yaml in a YAML language server from npm (Node.js)
	@npm install --silent --prefix $(HOME)/.cache/tfgen/editors yaml-language-server@2.0.0
	@$(PYTHON) -m pytest tests/editors $(PYTEST_ARGS)

.PHONY: servers
servers: $(VENV)/.with-test $(VENV)/.with-e2e tools ## Builds Kubernetes, etcd, KWOK and CoreDNS for the tests, at pinned versions (minutes, once)
	@tests/e2e/tools/build $(SERVERS)

.PHONY: e2e
e2e: packages servers images ## Runs the tests on real servers (Debian, as root)
	@$(PYTEST_OF_SERVERS) -m 'e2e and not operators' tests/e2e

# Each names a folder of programs that somebody has built.
OPERATORS := VOLCANO_BIN JOBSET_BIN KUEUE_BIN

.PHONY: operators
operators: programs $(VENV)/.with-test $(VENV)/.with-e2e tools ## Runs the tests with Volcano, JobSet and Kueue, built by hand (docs/testing.md)
	@tests/e2e/tools/build etcd kubernetes kwok
	@$(PYTEST_OF_SERVERS) -m operators --no-skips tests/e2e/server

.PHONY: programs
programs:
	@for name in $(OPERATORS); do [[ -d $${!name:-} ]] || { \
	  echo "make operators needs $$name, a folder with the programs: see docs/testing.md" >&2; exit 1; }; done

.PHONY: images
images: $(VENV)/.with-test $(VENV)/.with-e2e packages
	@$(PYTHON) -m tests.e2e.images

.PHONY: packages
packages:
	@$(call install,$(PACKAGES))

.PHONY: train
train: $(VENV)/.with-test $(VENV)/.with-examples ## Trains the examples with TensorFlow, as local processes
	@$(PYTEST) -n 0 tests/train

# How much `make bench` measures: `make bench JOBS=20 STRUCTURES=5 MOST=50 WORKERS=1000 ROUNDS=3` is a short run.
SIZES := JOBS STRUCTURES MOST WORKERS ROUNDS NODES

.PHONY: bench
bench: $(VENV)/.installed ## Times tfgen beside Helm and kustomize (Linux, `make tools`), and writes docs/performance.md
	@$(PYTHON) -m tests.bench $(foreach size,$(SIZES),$(if $($(size)),--$(shell echo $(size) | tr A-Z a-z) $($(size))))

.PHONY: timings
timings: $(VENV)/.with-test ## Prints where the time of the last .ci/run went
	@$(PYTHON) -m tests.timings

.PHONY: clean
clean: ## Removes what these targets made here, the virtual environment too
	rm -rf $(VENV) .timings demo dist .hypothesis .mypy_cache .pytest_cache .ruff_cache

# -- The virtual environment --------------------------------------------------------------------------------------

# The first Python that starts, is new enough and can make environments. A name on PATH alone says little: a
# version manager puts names there that fail, and distributions leave out ensurepip.
$(PYTHON):
	@for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	  $$python -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	  echo "Making $(VENV) with $$($$python --version) ..."; \
	  exec $$python -m venv --clear $(VENV); \
	done; \
	echo 'tfgen needs Python 3.11 or newer with its venv module (on Debian and Ubuntu: apt install python3-venv).' \
	  "Here, python3 --version says: $$(python3 --version 2>&1 | head -1)" >&2; exit 1

# Stamps: pip runs again when what it reads has changed, and not otherwise.
SOURCES_OF_INSTALL := pyproject.toml gen/tfgen/__init__.py

$(VENV)/.installed: $(SOURCES_OF_INSTALL) | $(PYTHON)
	@echo 'Installing tfgen ...'
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.with-%: $(SOURCES_OF_INSTALL) | $(PYTHON)
	@echo 'Installing tfgen with what "$*" needs ...'
	@$(PIP) install --editable '.[$*]'
	@touch $@

$(VENV)/.with-examples: $(REQUIREMENTS) | $(PYTHON)
	@echo 'Installing what the examples need ...'
	@$(PIP) install $(REQUIREMENTS:%=--requirement %)
	@touch $@
