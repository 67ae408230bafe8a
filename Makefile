# Run `make` alone to see what there is. Nothing here sets CARGO_TARGET_DIR, so `make run` and `cargo run -- dev` share one build.

LISTEN ?=
ARGS ?=
RELEASE ?=
SUITE ?=
TESTS ?=
export LISTEN ARGS RELEASE SUITE TESTS
# rustup's directory, for a shell that has not heard of it yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

.DEFAULT_GOAL := help
.PHONY: help build dashboard run demo test lint advisories fmt torture bench bench-quick generate screenshots install clean

help: ## Show this list
	@echo "Foreman: a job server in one binary. Start with: make run"
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name what; do printf '%-18s %s\n' "$$name" "$$what"; done
	@echo
	@echo "  LISTEN=127.0.0.1:9090   make run, demo: listen elsewhere (default 127.0.0.1:8080)"
	@echo "  ARGS='--allow-commands' make run: more flags for foreman dev"
	@echo "  RELEASE=1               make run: an optimised build (slower to make, faster to run)"
	@echo "  SUITE=core              make test: one suite"
	@echo "  TESTS=cancel            make test: only tests whose name contains this"
	@echo "  AT_ONCE=1               make test: one suite after another (two side by side by default)"
	@echo "  CHROMIUM=/path/to/it    make test, screenshots: the browser to use"

build: ## Compile the binary (debug)
	@scripts/dashboard try
	cargo build --locked --package foreman

dashboard: ## Build the dashboard into dashboard/dist, which goes into the binary; nothing if that is up to date
	@scripts/dashboard build

run: ## Build, then run every role in one process on an embedded SQLite file under ./.foreman
	@scripts/run

demo: ## The same with a lively mix of jobs, schedules and failures, for a first look
	@scripts/run --demo

test: ## Run every suite; the last line is "N passed, N failed"
	@scripts/test

lint: ## Formatting, clippy, shell scripts, and the dashboard's types and lint
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	scripts/check-scripts
	scripts/check-dashboard --lint

advisories: ## Ask whether a vulnerability is known of a dependency; needs a network and cargo-deny or cargo-audit, and fails without
	scripts/check-advisories --required

fmt: ## Format the code
	cargo fmt --all
	scripts/dashboard install
	cd dashboard && npm run --silent format

torture: ## The process tests, the stress of the stores, the schedules and the API, longer: more kills, load, years and requests
	@scripts/torture

bench: ## Measure everything beside its floor and beside other job queues, and write bench/RESULTS.md (under 30 minutes)
	@scripts/bench $(ARGS)

bench-quick: ## A few ratios in under 4 minutes; fails if one is 30 % below bench/recorded.toml (ARGS=--record writes it)
	@scripts/bench --quick $(ARGS)

generate: ## Write the files that are made from the code (docs/openapi.json, the dashboard's types of it)
	cargo run --locked --quiet --package foreman -- openapi > docs/openapi.json.new
	mv docs/openapi.json.new docs/openapi.json
	scripts/dashboard generate

screenshots: ## Write the pictures of every page into docs/screenshots, from the demo
	@scripts/preflight screenshots
	@scripts/check-browser --screenshots

install: ## Put foreman on your PATH (~/.cargo/bin)
	@scripts/dashboard try
	cargo install --locked --path crates/foreman

clean: ## Remove what was compiled (keeps ./.foreman, which holds your jobs)
	cargo clean
	rm -rf dashboard/dist dashboard/dist.* dashboard/.built*
