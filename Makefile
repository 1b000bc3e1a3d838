# Scentline's commands. Each target sets up what it needs, on a fresh machine too.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
CREATED := $(VENV)/created.stamp
INSTALLED := $(VENV)/installed.stamp
DEVELOPED := $(VENV)/developed.stamp
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
CODE := models streams agents clients bench deploy tests
TYPED := src/scentline bench deploy tests
CRAWLERS := $(VENV)/crawlers
NGINX := $(VENV)/nginx
REPLAY := $(VENV)/replaywebpage
ATHERIS := $(VENV)/atheris
PYSPY := $(VENV)/py-spy

.PHONY: help setup develop check format test night kafka kafka-stop faults hostile live demo bench bench-quick bench-kafka crawlers replay door render documents export clock stages size budget fuzz docs screenshots manifests lock clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

setup: $(INSTALLED) ## install the command into .venv (quick when nothing changed)
	@:

develop: $(DEVELOPED) ## install what working on it takes, too: the tests, the checks, the benches
	@:

# A stamp is written last, so that an interrupted set-up is done again.
$(CREATED):
	@python=
	for candidate in $${PYTHON:-} python3.13 python3.12 python3.11 python3.14 python3; do
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
	    python=$$candidate; break
	  fi
	done
	if [ -z "$$python" ]; then
	  echo "make setup: needs Python 3.11 or later, and found none (name one with PYTHON=...)" >&2; exit 1
	fi
	if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then
	  if ! "$$python" -c 'import venv, ensurepip' 2>/dev/null; then
	    echo "make setup: $$python has no venv module (on Debian: apt-get install python3-venv)" >&2; exit 1
	  fi
	  "$$python" -m venv --clear $(VENV)
	fi
	touch $@

# Installs what a lock file names, and says how far it is.
define install
	of=$$(cat $(1) | grep -c '==')
	$(subst --quiet,,$(PIP)) --require-hashes $(addprefix -r ,$(1)) | awk -v of="$$of" \
	  '/^(Collecting|Ignoring|Requirement)/ && ++n % 25 == 0 { print "make setup: " n " of about " of " packages" }'
	$(PIP) --no-deps --no-build-isolation --editable . --editable bench/lab
endef

LOCKS := deploy/requirements.lock deploy/build.lock bench/lab/requirements.lock

$(INSTALLED): $(LOCKS) pyproject.toml bench/lab/pyproject.toml $(CREATED)
	@echo "make setup: installing into $(VENV), which takes about a minute"
	$(call install,$(LOCKS))
	touch $@

$(DEVELOPED): requirements.lock pyproject.toml $(INSTALLED)
	@echo "make develop: installing into $(VENV) what the tests and checks need"
	$(call install,requirements.lock)
	touch $@

check: develop ## lint, format and types: ruff and mypy strict
	@$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy $(TYPED)

format: develop ## put the code into its format
	@$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

# A file's tests share its crawl and its broker, so they stay in one process. Of its time half is waiting for other
# processes: so there are three for two cores.
test: develop ## run the tests
	@$(BIN)/python -m compileall -q $(CODE)
	$(BIN)/pytest -n $$(( $$(nproc) * 3 / 2 )) --dist loadfile --no-loadscope-reorder --durations=15

night: develop ## try each property with a thousand examples of its own, in place of 25 (an hour)
	@HYPOTHESIS_PROFILE=night $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder tests/models tests/streams tests/agents

kafka: develop ## start one Kafka broker on this machine; KAFKA_PORT=9092, KAFKA_PROPERTIES=FILE
	@$(BIN)/python -m deploy.kafka start --port $(or $(KAFKA_PORT),9092) \
	  $(if $(KAFKA_PROPERTIES),--properties '$(KAFKA_PROPERTIES)')

kafka-stop: develop ## stop that broker; what it kept stays in .kafka/broker
	@$(BIN)/python -m deploy.kafka stop

demo: setup ## crawl a synthetic web for about a minute and show what came of it
	@$(BIN)/scentline demo

crawlers: $(CRAWLERS)/installed.stamp ## install Scrapy and Crawlee, for the tests of doors and the benches
	@:

# Scrapy and Crawlee live apart from what the crawler itself needs.
$(CRAWLERS)/installed.stamp: bench/crawl/requirements.txt $(CREATED)
	@echo "make: installing Scrapy and Crawlee into $(CRAWLERS)"
	$(BIN)/python -m venv --clear $(CRAWLERS)
	$(CRAWLERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	touch $@

replay: $(REPLAY)/unpacked.stamp ## fetch ReplayWeb.page, for the test that opens a WACZ in it
	@:

$(REPLAY)/unpacked.stamp: $(CREATED)
	@command -v npm >/dev/null || { echo "make replay: needs npm (on Debian: apt-get install npm)" >&2; exit 1; }
	mkdir -p $(REPLAY)
	cd $(REPLAY)
	npm pack --silent replaywebpage@2.4.6
	sha256sum --check --quiet <<<"6faef5c261e94b6e83cd6ee975bd0378fd4bc948bb14d36d45c709ffecb261b8  replaywebpage-2.4.6.tgz"
	tar --extract --gzip --file replaywebpage-2.4.6.tgz
	touch $(CURDIR)/$@

# Debian's package, unpacked: nothing is installed, and no server starts by itself.
$(NGINX)/unpacked.stamp: $(CREATED)
	@mkdir -p $(NGINX)
	if ! PATH="$$PATH:/usr/sbin" command -v nginx >/dev/null; then
	  if ! command -v apt-get >/dev/null; then
	    echo "make bench: needs nginx, and found neither it nor Debian's apt-get" >&2; exit 1
	  fi
	  cd $(NGINX)
	  apt-get download --quiet nginx || { echo "make bench: no nginx to be had; try apt-get update" >&2; exit 1; }
	  dpkg-deb --extract nginx_*.deb .
	fi
	touch $(CURDIR)/$@

documents: develop ## how PDFs are read, and what of them a crawl finds, of a site with a third PDFs (ten minutes)
	@$(BIN)/python -m bench.documents $(DOCUMENTS)

export: develop ## how fast judged pages become a data set, and in how much memory (five minutes)
	@$(BIN)/python -m compileall -q models streams agents
	$(BIN)/python -m bench.export $(EXPORT)

clock: develop $(CRAWLERS)/installed.stamp ## hits by the clock, at a delay a host and the web's latency, beside Scrapy's (half an hour)
	@$(BIN)/python -m compileall -q models streams agents
	$(BIN)/python -m bench.clock --python $(CRAWLERS)/bin/python $(CLOCK)

# As installing does with packages: else an environment that keeps no bytecode compiles it at each start.
bench: develop $(CRAWLERS)/installed.stamp $(NGINX)/unpacked.stamp ## crawl the same pages with Scrapy, Crawlee and Scentline (an hour)
	@$(BIN)/python -m compileall -q models streams agents
	$(BIN)/python -m bench.crawl --python $(CRAWLERS)/bin/python --nginx $(NGINX) $(BENCH)

bench-quick: ## the same with 400 pages, once, and nothing killed (two minutes)
	@$(MAKE) bench BENCH='--quick $(BENCH)'

door: develop $(CRAWLERS)/installed.stamp $(NGINX)/unpacked.stamp ## what Scrapy finds by the frontier's order, beside alone; DOOR='--quick', '--crawler crawlee'
	@$(BIN)/python -m compileall -q models streams agents
	$(BIN)/python -m bench.door --python $(CRAWLERS)/bin/python --nginx $(NGINX) $(DOOR)

render: develop ## hits a minute where half of the pages need scripts: all, none, some rendered; RENDER='--seconds 60'
	$(BIN)/python -m bench.render $(RENDER)

bench-kafka: develop ## what a page costs one worker with every role on a real broker, beside the embedded log
	@$(BIN)/python -m bench.on_kafka $(BENCH)

stages: develop ## where the CPU time of a page goes, stage by stage; STAGES='--policy breadth-first --budget 500'
	@$(BIN)/python -m compileall -q models streams agents
	$(BIN)/python -m bench.stages $(STAGES)

$(PYSPY)/installed.stamp: bench/stages/requirements.txt $(INSTALLED)
	@$(PIP) --upgrade --require-hashes --target $(PYSPY) -r $<
	touch $@

flame: develop $(PYSPY)/installed.stamp ## the same as a flame graph, in flame.svg or FLAME=FILE; sampled by py-spy
	@$(BIN)/python -m bench.stages --flame $(or $(FLAME),flame.svg) --py-spy $(PYSPY)/bin/py-spy $(STAGES)

growth: develop ## how the CPU time of a page grows with pages, candidates, predicates and links (half an hour)
	@$(BIN)/python -m bench.growth $(GROWTH)

size: develop ## what a start with many candidates takes, and a log; SIZE='--candidates 1000000 --lines 300000'
	@$(BIN)/python -m bench.size $(SIZE)

faults: develop ## kill, freeze and wipe workers on a real broker, and recount; FAULTS='--hours 8 --seed 3' goes on
	@$(BIN)/python -m bench.faults $(FAULTS)

hostile: develop ## what hostile sites take from honest ones beside them; HOSTILE='--seeds 5 --delay 0' goes on
	@$(BIN)/python -m bench.hostile $(HOSTILE)

live: develop ## seconds from a visitor's request through Squid to a candidate, on a real broker
	@$(BIN)/python -m bench.live

$(ATHERIS)/installed.stamp: bench/fuzz/requirements.txt $(INSTALLED)
	@$(PIP) --upgrade --require-hashes --target $(ATHERIS) -r $<
	touch $@

budget: develop ## how much each room of the house holds, as its budget in pyproject.toml has it
	@$(BIN)/python -m tests.test_budget

fuzz: develop $(ATHERIS)/installed.stamp ## fuzz every reader and whole crawls, a minute each, or SECONDS=...; write 100,000 messages to crawls
	@failed=
	for reader in page document log url predicate robots sitemap http record sealed warc; do
	  $(BIN)/python -m bench.fuzz $$reader $(or $(SECONDS),60) || failed=1
	done
	$(BIN)/python -m tests.rubbish.crawling $(or $(SECONDS),60) || failed=1
	STRANGERS=100000 $(BIN)/pytest -q -k strangers tests/rubbish/test_corpus.py tests/kafka/test_crawl.py || failed=1
	test -z "$$failed"

docs: develop ## write docs/settings.md anew from the settings class
	@$(BIN)/python -m deploy.settings_page > docs/settings.md

screenshots: develop ## take the pictures of the window's screens anew, in Chromium, on a crawl of the demo's web
	@$(BIN)/python -m tests.window.screenshots

manifests: develop ## write anew what follows from the code under deploy/
	@$(BIN)/python -m deploy.manifests

lock: $(CREATED) ## resolve requirements.lock anew from pyproject.toml, and the hashes of what bench/ pins
	@$(BIN)/python -m venv $(VENV)/lock
	$(VENV)/lock/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.13,<0.14'
	for pinned in bench/crawl bench/fuzz bench/stages; do
	  $(VENV)/lock/bin/uv pip compile --quiet --no-deps --no-annotate --generate-hashes --python-version 3.11 \
	    --custom-compile-command "make lock" $$pinned/requirements.txt --output-file $$pinned/requirements.txt
	done
	$(VENV)/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --extra dev --custom-compile-command "make lock" pyproject.toml --output-file requirements.lock

clean: ## remove what the targets made
	@if [ -e .kafka/broker/process.json ]; then $(MAKE) kafka-stop; fi
	rm -rf $(VENV) .kafka .mypy_cache .ruff_cache .pytest_cache .hypothesis dist demo
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
