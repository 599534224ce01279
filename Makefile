# For people: each target says what it does in `make help`. The build itself is Meson's.
PREFIX ?= /usr/local
DESTDIR ?=
BUILD := build
WATTLE := $(BUILD)/src/cli/wattle

.DEFAULT_GOAL := build
.PHONY: build test demo lint bench install uninstall clean help

build: ## compile into build/ (gcc, as it is shipped)
	@tools/deps.sh build
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --prefix=$(PREFIX)
	@ninja -C $(BUILD)

test: ## install what is missing, build in every way and run every test
	@tools/deps.sh --install test
	@tools/test.sh

demo: ## install what is missing, build, run real work inside the fence and try to get out of it
	@tools/deps.sh --install build
	@$(MAKE) --no-print-directory build
	@tools/userns-check.sh $(CURDIR)/$(WATTLE) $(CURDIR)/$(BUILD)
	@tools/demo.sh $(WATTLE)

lint: ## format, clang-tidy, cppcheck, layers, headers, shell, words
	@tools/deps.sh --install lint
	@tools/test.sh lint

bench: ## install what is compared with, measure, print the figures
	@tools/deps.sh --install bench
	@$(MAKE) --no-print-directory build
	@WATTLE=$(WATTLE) bench/run.sh; status=$$?; WATTLE=$(WATTLE) bench/guard.sh || status=1; WATTLE=$(WATTLE) bench/mcp.sh || status=1; exit $$status

install: ## install what is built below PREFIX (default /usr/local); DESTDIR for packagers
	@test -x $(WATTLE) || $(MAKE) --no-print-directory build
	@tools/install.py install "$(BUILD)" "$(PREFIX)" "$(DESTDIR)"

uninstall: ## remove what `make install` put below PREFIX and DESTDIR
	@tools/install.py uninstall "$(BUILD)" "$(PREFIX)" "$(DESTDIR)"

clean: ## remove every build folder
	rm -rf build build-clang build-san

help: ## this list
	@sed -nE 's/^([a-z]+):[^#]*## (.*)/make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18
