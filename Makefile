# prober: build, check, test. Everything a target needs it builds itself, into
# .cache, once per version.

GO        ?= go
CACHE     := $(CURDIR)/.cache
BIN       := $(CURDIR)/bin
FUZZTIME  ?= 3s
PKGS      := ./...

export GOFLAGS := -buildvcs=auto
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

.PHONY: build check test lint generate demo bench fmt vet staticcheck unit fuzz e2e kube accuracy generate-chart chromium clean

build: ## the binary, in bin/
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w' -o $(BIN)/prober ./cmd/prober

demo: ## the simulator and the prober in one process
	$(GO) run ./cmd/prober demo

check: fmt vet ## the quick loop: format, vet, tests without the race detector
	$(GO) test $(PKGS)

test: fmt vet staticcheck unit fuzz e2e ## everything, in a real Kubernetes too once make kube has built one
	@$(if $(KUBE_BUILT),,echo "make test: not in this run: the chart, Kustomize and inject in a real Kubernetes. make kube builds one in about ten minutes, and from then on it is")
	@echo "make test: all passed"

fmt:
	@unformatted=$$(gofmt -l alerts cmd dashboards deploy internal test); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change: $$unformatted"; exit 1; fi

# What is to be compiled anyway is compiled with a lazy garbage collector of the compiler.
vet:
	GOGC=400 $(GO) vet $(PKGS)
	cd test && GOGC=400 $(GO) vet ./...
	cd test/accuracy && GOGC=400 $(GO) vet ./...

# Each tool is built from its own pinned module when that has changed.
STATICCHECK := $(CACHE)/staticcheck-$(shell cksum test/tools/go.sum | cut -d' ' -f1)
$(STATICCHECK):
	cd test/tools && GOGC=400 $(GO) build -buildvcs=false -o $@ honnef.co/go/tools/cmd/staticcheck

GOLANGCI := $(CACHE)/golangci-lint-$(shell cksum test/lint/go.sum | cut -d' ' -f1)
$(GOLANGCI):
	cd test/lint && GOGC=400 $(GO) build -buildvcs=false -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# A simulator of vLLM that is not ours, for the tests of the binary.
LLMD := $(CACHE)/llm-d-inference-sim-$(shell cksum test/llmd/go.sum | cut -d' ' -f1)
$(LLMD):
	cd test/llmd && GOGC=400 CGO_ENABLED=0 $(GO) build -buildvcs=false -trimpath -ldflags='-s -w' -o $@ \
	  github.com/llm-d/llm-d-inference-sim/cmd/llm-d-inference-sim

# Real back ends: Prometheus and its promtool, an OpenTelemetry Collector.
PROMETHEUS_VERSION := $(shell sed -nE 's|.*prometheus/prometheus (v[0-9.]+).*|\1|p' test/go.mod)
PROMETHEUS := $(CACHE)/prometheus-$(PROMETHEUS_VERSION)
PROMTOOL   := $(CACHE)/promtool-$(PROMETHEUS_VERSION)
$(PROMETHEUS) $(PROMTOOL): $(CACHE)/%-$(PROMETHEUS_VERSION):
	cd test && GOGC=400 CGO_ENABLED=0 $(GO) build -buildvcs=false -trimpath -tags netgo,remove_all_sd -ldflags='-s -w' -o $@ \
	  github.com/prometheus/prometheus/cmd/$*

OTELCOL := $(CACHE)/otelcol-$(shell cat test/otelcol/main.go test/otelcol/go.sum | cksum | cut -d' ' -f1)
$(OTELCOL):
	cd test/otelcol && GOGC=400 CGO_ENABLED=0 $(GO) build -buildvcs=false -trimpath -ldflags='-s -w' -o $@ .

# Kubernetes and Helm for the chart, in one program with a name for each of its parts; Helm by itself as well. Most of it is
# compiled for nobody else: without inlining and debugging data, and with a lazy garbage collector of the compiler, that takes
# half as long.
KUBE_TOOLS := $(CACHE)/kube-$(shell cat test/kubetools/main.go test/kubetools/go.sum | cksum | cut -d' ' -f1)
KUBE_VERSION := $(shell sed -nE 's|.*k8s.io/kubernetes v([0-9.]+).*|\1|p' test/kubetools/go.mod)
KUBE_LDFLAGS := -s -w -X k8s.io/component-base/version.gitVersion=v$(KUBE_VERSION) \
  -X k8s.io/component-base/version.gitMajor=$(word 1,$(subst ., ,$(KUBE_VERSION))) \
  -X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(KUBE_VERSION)))
KUBE_BUILD := GOGC=400 CGO_ENABLED=0 $(GO) build -buildvcs=false -trimpath -gcflags='...=-l -dwarf=false' -gcflags=std= -ldflags='$(KUBE_LDFLAGS)'
HELM := $(CACHE)/helm-$(shell cksum test/kubetools/go.sum | cut -d' ' -f1)
$(HELM):
	cd test/kubetools && $(KUBE_BUILD) -o $@ helm.sh/helm/v4/cmd/helm
$(KUBE_TOOLS):
	@rm -rf $@.part && mkdir -p $@.part
	cd test/kubetools && $(KUBE_BUILD) -o $@.part/ . github.com/yannh/kubeconform/cmd/kubeconform
	cd $@.part && for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok helm; do ln -s kubetools $$name; done
	cd test/kubetools && cp -r $$($(GO) list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage $@.part/stage && \
	  cp $$($(GO) list -m -f '{{.Dir}}' k8s.io/kubernetes)/api/openapi-spec/swagger.json $@.part/
	@chmod -R u+w $@.part && mv $@.part $@

# The CRDs of those with whom the chart and the sidecar live, out of their modules. What is offline is a megabyte each, and
# would cost the API server longer than all tests take.
CRDS := $(CACHE)/crds-$(shell cat test/crds/files.txt test/crds/go.sum | cksum | cut -d' ' -f1)
$(CRDS):
	@rm -rf $@.part && mkdir -p $@.part/installed $@.part/offline
	cd test/crds && while read -r folder module file; do \
	  cp "$$($(GO) mod download -json $$module | sed -nE 's/^\t"Dir": "(.*)",$$/\1/p')/$$file" $@.part/$$folder/; \
	done <files.txt
	@chmod -R u+w $@.part && mv $@.part $@

staticcheck: $(STATICCHECK)
	$(STATICCHECK) $(PKGS)
	cd test && $(STATICCHECK) ./...
	cd test/accuracy && $(STATICCHECK) ./...

lint: $(GOLANGCI) ## all linters of .golangci.yml
	$(GOLANGCI) run $(PKGS)

# Generated files are compared with what the code says in these tests. The race detector is C code, and was seen to
# crash by itself (SIGSEGV in __tsan::SlotLock, Go 1.26): a package in which that happened, and in which no test failed and no
# race was found, is tried again, once. Such a crash prints the program counter of the C code; a crash of ours does not.
unit:
	GOGC=400 $(GO) build -race $(PKGS)
	@mkdir -p $(CACHE); rm -f $(CACHE)/race.ok
	@{ $(GO) test -race -shuffle=on $(PKGS) && touch $(CACHE)/race.ok; } 2>&1 | tee $(CACHE)/race.log
	@[ -e $(CACHE)/race.ok ] || { \
	  grep -q '^PC=0x' $(CACHE)/race.log && ! grep -qE '^ *--- FAIL|DATA RACE|^panic:|build failed' $(CACHE)/race.log || exit 1; \
	  crashed=$$(sed -nE 's/^FAIL[[:space:]]+([^ 	]+)[[:space:]].*/\1/p' $(CACHE)/race.log); \
	  echo "the race detector crashed; once more: $$crashed"; $(GO) test -race -shuffle=on $$crashed; }
	$(GO) test -run Allocates ./internal/stream ./internal/wire ./internal/probe
	$(GO) test -run 'Ladders|LongPrompts|EqualStacks|FivePerCent|SameRunTwice|UnderLoad' ./cmd/prober
	@$(GO) test -count=1 -run '^TestTranscripts$$' -v ./internal/probe | grep -E '^ *(---|transcripts_test.go).*(SKIP|transcripts)' || true

# A run that ends by its time now and then fails with "context deadline exceeded"
# and no failing input (https://go.dev/issue/75804): that, and only that, is tried again, once.
fuzz: ## a smoke of every fuzz test, $(FUZZTIME) each
	@mkdir -p $(CACHE)
	@for pkg in $$(grep -rlE '^func Fuzz' --include='*_test.go' internal | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -rhoE '^func Fuzz[A-Za-z0-9]*' $$pkg | sed 's/^func //'); do \
	    echo "fuzz $$pkg $$f"; \
	    for try in 1 2; do \
	      if $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) ./$$pkg >$(CACHE)/fuzz.log 2>&1; then break; fi; \
	      cat $(CACHE)/fuzz.log; \
	      if [ $$try = 2 ] || ! grep -q 'context deadline exceeded' $(CACHE)/fuzz.log || grep -q 'Failing input' $(CACHE)/fuzz.log; then exit 1; fi; \
	    done; \
	    tail -1 $(CACHE)/fuzz.log; \
	  done; \
	done

# The page is tested in a real browser: Debian's, installed where it is missing.
chromium:
	@command -v chromium >/dev/null || { \
	  echo "installing chromium"; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; }

BACKENDS := PROMETHEUS_BINARY=$(PROMETHEUS) PROMTOOL_BINARY=$(PROMTOOL) OTELCOL_BINARY=$(OTELCOL)

# A real Kubernetes is ten minutes of compilation, once: who has it built tests in it each time.
KUBERNETES := KUBE_TOOLS=$(KUBE_TOOLS) KUBE_CRDS=$(CRDS)
KUBE_BUILT := $(and $(wildcard $(KUBE_TOOLS)),$(wildcard $(CRDS)))

kube: build $(HELM) $(KUBE_TOOLS) $(CRDS) ## the chart, Kustomize and inject in a real Kubernetes
	cd test && PROBER_BINARY=$(BIN)/prober HELM_BINARY=$(HELM) $(KUBERNETES) $(GO) test -count=1 ./kube

# What computes goes before what measures.
e2e: build chromium $(LLMD) $(PROMETHEUS) $(PROMTOOL) $(OTELCOL) $(HELM) ## the binary, its page in a browser, its metrics in real back ends, a server that is not ours, its chart and its image
	@echo "e2e: its log is $(CACHE)/e2e.log"
	@cd test && export PROBER_BINARY=$(BIN)/prober LLMD_BINARY=$(LLMD) HELM_BINARY=$(HELM) $(BACKENDS) $(KUBERNETES) && \
	  { (cd accuracy && $(GO) test -count=1 -v .) && for packages in "./chart ./integrations ./startup ./performance ./cluster $(if $(KUBE_BUILT),./kube)" ". ./history"; do \
	    $(GO) test -count=1 -parallel 4 -v $$packages || exit 1; \
	  done; } 2>&1 | \
	  tee $(CACHE)/e2e.log | grep -E '^(--- |ok|FAIL)|queries run' || { cat $(CACHE)/e2e.log; exit 1; }

generate: ## docs/metrics.md, docs/configuration.md, the boards and golden files
	$(GO) test ./cmd/prober ./internal/telemetry ./internal/report ./internal/status ./internal/plot ./dashboards/generate ./deploy -update

generate-chart: build $(HELM) ## what Helm makes of the values in deploy/helm/prober/ci
	cd test && PROBER_BINARY=$(BIN)/prober HELM_BINARY=$(HELM) $(GO) test -count=1 ./chart -update

bench: ## benchmarks with allocations
	$(GO) test -run '^$$' -bench . -benchmem ./internal/...

# Built first: what compiles beside a measurement is in it.
accuracy: build ## how exact the stamps are, on this machine: ten minutes and more, ACCURACY has flags for another
	cd test/accuracy && $(GO) build -buildvcs=false -o $(BIN)/accuracy . && PROBER_BINARY=$(BIN)/prober $(BIN)/accuracy $(ACCURACY)

clean:
	rm -rf $(BIN) $(CACHE) $(DIST)

# The image, without a container engine or a registry: a layout of all platforms,
# for each an archive that docker, podman and ctr load, and an SBOM. A release pushes
# the layout as it is.
DIST            ?= $(CURDIR)/dist
IMAGE_PLATFORMS := linux/amd64 linux/arm64

.PHONY: image vet-image test-image
image: ## the container image, in dist/image/
	@for platform in $(IMAGE_PLATFORMS); do \
	  CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} \
	  $(GO) build -trimpath -ldflags='-s -w' -o $(DIST)/image/$$platform/prober ./cmd/prober; \
	done
	@cd deploy/image && $(GO) run -buildvcs=false . build -to $(DIST)/image $(IMAGE_PLATFORMS:%=$(DIST)/image/%/prober)

vet: vet-image
vet-image:
	cd deploy/image && $(GO) vet ./...

unit: test-image
test-image:
	cd deploy/image && $(GO) test ./...

e2e: image # of this machine's platform: another is a minute of compilation
e2e: IMAGE_PLATFORMS := linux/$(shell $(GO) env GOARCH)
e2e: export PROBER_IMAGE := $(DIST)/image

# What a release is made with. The workflows are checked in every test; the rest
# takes a build of minutes, and stays out of it.
ACTIONLINT := $(CACHE)/actionlint-$(shell cksum test/workflows/go.sum | cut -d' ' -f1)
$(ACTIONLINT):
	cd test/workflows && GOGC=400 CGO_ENABLED=0 $(GO) build -buildvcs=false -o $@ github.com/rhysd/actionlint/cmd/actionlint

GORELEASER := $(CACHE)/goreleaser-$(shell cksum test/release/go.sum | cut -d' ' -f1)
$(GORELEASER):
	cd test/release && GOGC=400 CGO_ENABLED=0 $(GO) build -buildvcs=false -trimpath -ldflags='-s -w' -o $@ github.com/goreleaser/goreleaser/v2

.PHONY: workflows release-check snapshot
vet: workflows
workflows: $(ACTIONLINT) ## the workflows of GitHub, checked
	$(ACTIONLINT) -shellcheck= -pyflakes=

release-check: workflows $(GORELEASER) ## the workflows and the release's configuration, checked
	$(GORELEASER) check

snapshot: $(GORELEASER) ## all files of a release, in dist/release/, neither signed nor published
	$(GORELEASER) release --snapshot --clean --skip=publish,sign

.PHONY: release
release: $(GORELEASER) ## for the workflow of that name, on a tag: signs and publishes; NOTES is a file
	$(GORELEASER) release --clean --release-notes=$(NOTES)
