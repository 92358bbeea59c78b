# Every target works on all modules: the library, its adapters to systems that it is
# not to depend on, and integration/, which holds whatever needs a real server, a
# container or a heavy dependency.
MODULES  := . promzkr otelzkr integration
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

each = @set -e; for m in $(MODULES); do echo "-- $$m"; (cd $$m && $(1)); done

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: ## install what is missing (Debian, root) and run all tests, storms in their small form
	@ZKR_STORM=small scripts/test.sh

.PHONY: proof
proof: ## run the tests with the storms in full, SOAK=15m of chaos among them, and keep their reports in docs/proof
	@mkdir -p docs/proof
	@ZKR_STORM=full ZKR_REPORTS=$(CURDIR)/docs/proof ZKR_TIMEOUT=2h GOTESTFLAGS=-count=1 scripts/test.sh

.PHONY: soak
soak: ## storms of SOAK=1h under faults, half of it on each version of ZooKeeper; reports in docs/proof
	@mkdir -p docs/proof
	@scripts/install-deps.sh
	cd integration && SOAK=$${SOAK:-1h} ZKR_STORM=full ZKR_REPORTS=$(CURDIR)/docs/proof \
	  go test -race -count=1 -timeout 25h -v -run Storm ./chaos

.PHONY: fuzz
fuzz: ## run every fuzz test for FUZZTIME=30s, on FUZZWORKERS=1 processors
	@scripts/fuzz.sh

.PHONY: bench
bench: ## run the benchmarks, and keep what they find in docs/performance.md
	$(call each,ZKR_BENCH=$(CURDIR)/docs go test -run '^$$' -bench . -benchmem -timeout 2h ./...)

.PHONY: lint
lint: ## gofmt, go vet, golangci-lint (which the first run builds: some minutes) and actionlint
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt -w: $$unformatted"; exit 1; fi
	$(call each,go vet ./...)
	$(call each,go run $(GOLANGCI) run ./...)
	go run $(ACTIONLINT)

.PHONY: tidy-check
tidy-check: ## fail if a go.mod or go.sum is not what go mod tidy makes
	$(call each,go mod tidy -diff)

.PHONY: vuln
vuln: ## known vulnerabilities that the code reaches; a loud skip where the database is out of reach
	@scripts/vuln.sh $(MODULES)

.PHONY: dist
dist: ## zkr for each platform with its manual pages, and SHA256SUMS, in dist
	@scripts/dist.sh

.PHONY: image
image: ## a container image of zkr alone, named zkr, for the platform that this is
	@rm -rf dist/image && mkdir -p dist/image
	CGO_ENABLED=0 GOOS=linux go build -trimpath -ldflags=-s -o dist/image/zkr ./cmd/zkr
	docker build -f Containerfile -t zkr dist/image

.PHONY: release-check
release-check: ## what a release depends on beside the tests: the same bytes twice, the API, the changelog
	@scripts/release-check.sh
