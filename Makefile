# Every target sets up .venv by itself; nothing but Python >= 3.11, g++, make and perl is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RECSPEED := $(BIN)/recspeed
OUT ?= build/out
STAMP := $(VENV)/.recspeed-setup
LINKS := build/links/recspeed
export RECSPEED_CACHE := $(CURDIR)/build/cache

.DEFAULT_GOAL := help
.PHONY: help setup characterize reproduce test quick regress verilog bench lint clean

help:
	@echo "make characterize  pooling throughput per embedding size, of channels and of whole memory"
	@echo "                   systems: $(OUT)/characterize/report.html"
	@echo "make reproduce     every table and figure of the paper: $(OUT)/reproduce/report.html"
	@echo "make test          every test but those that take minutes"
	@echo "make quick         the tests that need no simulator and no proof: a minute and a half"
	@echo "make regress       the long random comparison of RTL and golden model, and the long tests"
	@echo "make verilog       Verilog of every block: $(OUT)/verilog"
	@echo "make bench         simulation and generation speed"
	@echo "make lint          ruff and pyright"
	@echo "make clean         remove everything that these targets made"

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,lint]'
	mkdir -p $(LINKS)
	for part in models rtl tb scripts; do ln -sfn ../../../$$part $(LINKS)/$$part; done
	touch $@

characterize: $(STAMP)
	$(RECSPEED) characterize --memory hbm2-2000,hbm2e-3000 --figure 6,7 --bytes 32:256:32 \
		--out $(OUT)/characterize

reproduce: $(STAMP)
	$(RECSPEED) reproduce --out $(OUT)/reproduce

# A file's tests stay on one worker, so that what they share is made once.
test: $(STAMP)
	$(BIN)/pytest -n 2 --dist loadgroup

quick: $(STAMP)
	$(BIN)/pytest -n 2 --dist loadgroup -m 'not simulator and not proof and not slow and not regression'

regress: $(STAMP)
	$(RECSPEED) regress --out $(OUT)/regress
	$(BIN)/pytest -n 2 --dist loadgroup -m regression

verilog: $(STAMP)
	$(RECSPEED) verilog --block all --preset hbm2-2000 --out $(OUT)/verilog

bench: $(STAMP)
	$(RECSPEED) bench

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

clean:
	rm -rf $(VENV) build .pytest_cache .ruff_cache .hypothesis recspeed.egg-info
