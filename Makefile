# Targets that set up, test and check the project: `make help` lists the targets. `make test` needs only Python 3.11 or
# newer. `make tools` needs Go, `make shells` needs Debian and root, `make e2e` needs all three, and `make train` needs
# a Python version that TensorFlow supports.

SHELL         := bash
.SHELLFLAGS   := -eu -o pipefail -c
MAKEFLAGS     += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help

VENV   := .venv
PYTHON := $(VENV)/bin/python
TFGEN  := $(VENV)/bin/tfgen
# uv installs in a tenth of the time of pip. uv does not read the settings of pip, so INDEX is the index of pip.
UV    := $(VENV)/bin/uv
INDEX  = $(or $(UV_DEFAULT_INDEX),$(PIP_INDEX_URL),$(shell $(PYTHON) -m pip config get global.index-url 2>/dev/null))
INSTALL = $(UV) pip install --quiet --python $(PYTHON) $(INDEX:%=--default-index %)
# Some tests wait for a program or for a pause, so four processes are faster than two on a machine with two processors.
PYTEST := $(PYTHON) -m pytest --quiet -n 4 --dist worksteal $(PYTEST_ARGS)

# Most tests on real servers wait for a server, so pytest starts more workers than processors: one for each of the two
# nodes, one for each GitOps tool, and three for all other tests. The longest tests start first (tests/e2e/conftest.py).
PYTEST_OF_SERVERS := $(PYTHON) -m pytest --quiet -n 7 --dist loadgroup --no-loadscope-reorder $(PYTEST_ARGS)

# Tests with one of these marks have their own target.
PIP_ONLY := not train and not e2e and not long and not nightly

# Needs of the tests on real servers: Debian packages, and programs that tests/e2e/tools/build builds.
PACKAGES := chromium containerd containernetworking-plugins iproute2 kmod nftables procps redis-server runc util-linux
SERVERS  := etcd kubernetes kwok coredns source-controller kustomize-controller helm-controller argocd training-operator

# Debian packages of the shells whose completion is tested.
SHELLS := bash fish zsh

# Install the missing Debian packages of a list.
define install
missing=$$(for package in $(1); do dpkg --status $$package >/dev/null 2>&1 || echo $$package; done); \
[[ -z $$missing ]] || { apt-get update --quiet=2 && \
  apt-get install --yes --quiet=2 --no-install-recommends $$missing >/dev/null; }
endef

# Folders that `tfgen render` writes.
RENDERED := charts overlays .tfgen
EXAMPLES := $(sort $(wildcard examples/*/job.yaml))
# Packages that the programs of the examples import, at the versions of their images.
REQUIREMENTS := $(sort $(wildcard examples/*/requirements.txt))

.PHONY: help
help: ## List the targets
	@sed -En 's/^([a-z0-9]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r target text; do \
	  printf '  make %-9s %s\n' "$$target" "$$text"; done
	@echo "  PYTEST_ARGS='-k chart -x' goes on to pytest."

# -- Targets for users ------------------------------------------------------------------------------------------

.PHONY: demo
demo: $(VENV)/.installed ## Render examples/dist-mnist into demo/
	@$(TFGEN) render examples/dist-mnist/job.yaml --out demo --format json >/dev/null
	@find demo -type f | LC_ALL=C sort
	@printf '\n%s\n\n  %s\n  %s\n\n' \
	  'The environment dev needs no GPU and no Volcano. To apply dev to a cluster, run one of these commands:' \
	  'helm install dist-mnist demo/charts/dist-mnist --values demo/charts/dist-mnist/values-dev.yaml' \
	  'kubectl apply -k demo/overlays/dist-mnist/dev'

.PHONY: test
test: $(VENV)/.with-test ## Run the tests that need only pip (without `make tools`, some tests are skipped)
	@$(PYTEST) -m '$(PIP_ONLY)' --ignore=tests/house

.PHONY: long
long: $(VENV)/.with-test ## Run the slow tests that need only pip: random jobs, installations, and changes of a git repository
	@$(PYTEST) -m 'long and not train and not e2e and not nightly'

.PHONY: check
check: lint test long docs drift ## Run all checks that must pass before a commit

.PHONY: lint
lint: $(VENV)/.with-test $(VENV)/.with-e2e $(VENV)/.with-dev ## Check format, style, spelling, types, imports, terms and links
	@$(PYTHON) -m ruff format --quiet --check
	@$(PYTHON) -m ruff check --quiet
	@$(PYTHON) -m codespell_lib *.md docs examples gen schemas
	@$(PYTHON) -m mypy --no-error-summary
	@$(PYTHON) -m mypy --no-error-summary -m tests.support.tools -m tests.conftest -p tests.e2e
	@$(PYTHON) -m pytest --quiet -p no:cacheprovider tests/house

.PHONY: docs
docs: $(VENV)/.with-docs ## Build the documentation site into .docs/; each warning is an error
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --quiet

.PHONY: drift
drift: $(VENV)/.installed ## Fail if charts/ and overlays/ differ from the newly rendered examples
	@fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; mkdir "$$fresh/.tfgen"; \
	cp .tfgen/*.json "$$fresh/.tfgen"; \
	$(TFGEN) render $(EXAMPLES) --out "$$fresh" >/dev/null; \
	for folder in $(RENDERED); do diff --recursive --unified "$$folder" "$$fresh/$$folder" && continue; \
	  echo "$$folder/ (---) is not what the examples render to (+++): run 'make render'" >&2; exit 1; done

.PHONY: render
render: $(VENV)/.installed ## Render the examples into charts/ and overlays/
	@$(TFGEN) render --upgrade $(EXAMPLES)

.PHONY: schema
schema: $(VENV)/.installed ## Write the derived schemas, of environments and of tfgen.yaml
	@$(PYTHON) -m derived_schemas

.PHONY: rooms
rooms: $(VENV)/.installed ## Draw docs/rooms.svg, the picture of the imports between rooms
	@$(PYTHON) -m house

.PHONY: derived
derived: $(VENV)/.with-test ## Write all files that follow from the job schema and from the code: derived schemas, references, goldens and examples
	@$(PYTHON) -m derived_schemas
	@$(PYTHON) -m schema_page
	@$(PYTHON) -m tests.support.output_digests --write
	@$(PYTHON) -m pytest --quiet tests/golden --golden-update
	@$(TFGEN) render --upgrade $(EXAMPLES)

.PHONY: pictures
pictures: $(VENV)/.installed ## Draw docs/dist-mnist.svg and docs/readme.svg
	@$(TFGEN) draw examples/dist-mnist/job.yaml > docs/dist-mnist.svg
	@$(PYTHON) -m readme_picture

.PHONY: curves
curves: $(VENV)/.installed $(VENV)/.with-examples ## Train examples, kill a task of each, and draw the loss into examples/*/curve.svg (minutes)
	@$(PYTHON) -m curves

.PHONY: cli
cli: $(VENV)/.installed ## Write docs/cli.md from the parsers, and the references of job.yaml and tfgen.yaml from the schemas
	@$(PYTHON) -m cli_page
	@$(PYTHON) -m schema_page

.PHONY: format
format: $(VENV)/.with-dev ## Format the code, and apply the safe fixes of ruff
	@$(PYTHON) -m ruff format --quiet
	@$(PYTHON) -m ruff check --quiet --fix

.PHONY: tools
tools: ## Build Helm, kustomize, kubeconform and actionlint for the tests, at pinned versions (minutes, once)
	@tests/e2e/tools/build helm helm-3.14 kustomize kubeconform actionlint

.PHONY: shells
shells: ## Install the shells whose completion is tested (Debian, as root)
	@$(call install,$(SHELLS))

.PHONY: editors
editors: $(VENV)/.with-test ## Test the schema of job.yaml in a YAML language server from npm (Node.js)
	@npm install --silent --prefix $(HOME)/.cache/tfgen/editors yaml-language-server@2.0.0
	@$(PYTHON) -m pytest tests/editors $(PYTEST_ARGS)

.PHONY: servers
servers: $(VENV)/.with-test $(VENV)/.with-e2e tools ## Build the servers of the tests, such as Kubernetes and Argo CD, at pinned versions (minutes, once)
	@tests/e2e/tools/build $(SERVERS)

.PHONY: e2e
e2e: packages servers images ## Run the tests on real servers (Debian, as root)
	@$(PYTEST_OF_SERVERS) -m 'e2e and not operators and not nightly' tests/e2e

# The second run draws ten times as many random values as .ci/run.
.PHONY: nightly
nightly: packages servers images $(VENV)/.with-examples ## Run the expensive repeats, as before a release, and write their table into docs/testing.md (Debian, as root)
	@tests/e2e/tools/build helm-3.14
	@status=0; \
	$(PYTEST_OF_SERVERS) -m 'nightly and not operators' --no-skips --junit-xml=.timings/nightly.xml || status=$$?; \
	$(PYTEST) -m 'hypothesis and long and not nightly' --hypothesis-profile=nightly \
	  --junit-xml=.timings/nightly-drawn.xml || status=$$?; \
	$(PYTHON) -m tests.nightly .timings/nightly.xml .timings/nightly-drawn.xml; exit $$status

# Each variable names a folder of programs that are built by hand.
OPERATORS := VOLCANO_BIN JOBSET_BIN KUEUE_BIN

.PHONY: operators
operators: programs $(VENV)/.with-test $(VENV)/.with-e2e tools ## Run the tests with Volcano, JobSet and Kueue, built by hand (docs/testing.md)
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
train: $(VENV)/.with-test $(VENV)/.with-examples ## Train the examples with TensorFlow, as local processes
	@$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder -m 'not nightly' tests/train # the tests of a module share trained models

# Sizes of `make bench`. A short run is `make bench JOBS=20 STRUCTURES=5 MOST=50 WORKERS=1000 ROUNDS=3`.
SIZES := JOBS STRUCTURES MOST WORKERS ROUNDS NODES

.PHONY: bench
bench: $(VENV)/.installed ## Compare the speed of tfgen with Helm and kustomize, and write docs/performance.md (Linux, `make tools`)
	@$(PYTHON) -m tests.bench $(foreach size,$(SIZES),$(if $($(size)),--$(shell echo $(size) | tr A-Z a-z) $($(size))))

.PHONY: timings
timings: $(VENV)/.with-test ## Print the times of the last .ci/run
	@$(PYTHON) -m tests.timings

.PHONY: clean
clean: ## Remove the files that these targets create, and the virtual environment
	rm -rf $(VENV) .timings demo dist .hypothesis .mypy_cache .pytest_cache .ruff_cache

# -- The virtual environment --------------------------------------------------------------------------------------

# Use the first Python that starts, is new enough and can create environments. A name on PATH is not enough: a name of a
# version manager may fail, and some distributions omit ensurepip.
$(PYTHON):
	@for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	  $$python -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	  echo "Making $(VENV) with $$($$python --version) ..."; \
	  exec $$python -m venv --clear $(VENV); \
	done; \
	echo 'tfgen needs Python 3.11 or newer with its venv module (on Debian and Ubuntu: apt install python3-venv).' \
	  "Here, python3 --version says: $$(python3 --version 2>&1 | head -1)" >&2; exit 1

$(UV): | $(PYTHON)
	@$(PYTHON) -m pip --quiet --disable-pip-version-check install --no-compile uv

# Stamps: uv runs again only after a change of the files that uv reads.
SOURCES_OF_INSTALL := pyproject.toml gen/tfgen/__init__.py

$(VENV)/.installed: $(SOURCES_OF_INSTALL) | $(UV)
	@echo 'Installing tfgen ...'
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.with-%: $(SOURCES_OF_INSTALL) | $(UV)
	@echo 'Installing tfgen with what "$*" needs ...'
	@$(INSTALL) --editable '.[$*]'
	@touch $@

$(VENV)/.with-examples: $(REQUIREMENTS) | $(UV)
	@echo 'Installing what the examples need ...'
	@$(INSTALL) $(REQUIREMENTS:%=--requirement %)
	@touch $@
