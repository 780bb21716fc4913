# prober: build, check, test. What a target needs it builds itself, into .cache, once
# per version; nothing is installed.

GO        ?= go
CACHE     := $(CURDIR)/.cache
BIN       := $(CURDIR)/bin
FUZZTIME  ?= 20000x

export GOFLAGS := -buildvcs=auto
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

.PHONY: build demo check test fmt vet race fuzz lint chromium buildah e2e kube generate generate-chart bench accuracy clean

build: ## the binary, in bin/
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w' -o $(BIN)/prober ./cmd/prober

demo: ## the simulator and the prober in one process
	$(GO) run ./cmd/prober demo

check: fmt vet ## the quick loop: format, vet, the tests of what changed
	$(GO) test ./...

# Golden tests compare the generated files with what the code says. Needs Go and nothing else.
test: fmt vet ## format, vet and all tests of the main module, again and in a random order
	$(GO) test -shuffle=on ./...

fmt:
	@unformatted=$$(gofmt -l alerts cmd dashboards deploy internal test); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change: $$unformatted"; exit 1; fi

# What is to be compiled anyway is compiled with a lazy garbage collector of the compiler.
vet:
	GOGC=400 $(GO) vet ./...

# Each tool is built from its own pinned module when that has changed.
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
	cd test/kubetools && $(KUBE_BUILD) -o $@.part/ .
	cd $@.part && for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok helm; do ln -s kubetools $$name; done
	cd test/kubetools && cp -r $$($(GO) list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage $@.part/stage
	@chmod -R u+w $@.part && mv $@.part $@

# The CRDs of those with whom the chart and the sidecar live, out of their modules.
CRDS := $(CACHE)/crds-$(shell cat test/crds/files.txt test/crds/go.sum | cksum | cut -d' ' -f1)
$(CRDS):
	@rm -rf $@.part && mkdir -p $@.part
	cd test/crds && while read -r module file; do \
	  cp "$$($(GO) mod download -json $$module | sed -nE 's/^\t"Dir": "(.*)",$$/\1/p')/$$file" $@.part/; \
	done <files.txt
	@chmod -R u+w $@.part && mv $@.part $@

# The tests are modules of their own, which have fewer rules.
LINTED := test test/accuracy

lint: $(GOLANGCI) workflows ## all linters of .golangci.yml, staticcheck among them, and the workflows of GitHub
	$(GOLANGCI) run ./...
	@for module in $(LINTED); do \
	  echo "golangci-lint $$module"; (cd $$module && $(GOLANGCI) run --enable-only govet,staticcheck,unused ./...); \
	done

race: ## the tests of the main module with the race detector, which needs a C compiler
	GOGC=400 $(GO) build -race ./...
	$(GO) test -race -shuffle=on ./...

# So many executions and not so long: a run that ends by its time now and then fails
# with "context deadline exceeded" and no failing input (https://go.dev/issue/75804).
fuzz: ## every fuzz test, $(FUZZTIME) each
	@for pkg in $$(grep -rlE '^func Fuzz' --include='*_test.go' internal | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -rhoE '^func Fuzz[A-Za-z0-9]*' $$pkg | sed 's/^func //'); do \
	    echo "fuzz $$pkg $$f"; \
	    $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) ./$$pkg; \
	  done; \
	done

# Known before the long work starts.
chromium:
	@command -v chromium chromium-browser google-chrome >/dev/null || { \
	  echo "make e2e tests the status page in a browser, and finds neither chromium nor google-chrome in the PATH."; \
	  echo "On Debian: apt-get install chromium"; \
	  exit 1; }

buildah:
	@command -v buildah >/dev/null || { \
	  echo "make e2e builds the image with buildah, and does not find it in the PATH."; \
	  echo "On Debian: apt-get install buildah"; \
	  exit 1; }

kube: build $(HELM) $(KUBE_TOOLS) $(CRDS) ## the chart and Kustomize in a real Kubernetes, whose first build takes ten minutes
	cd test && PROBER_BINARY=$(BIN)/prober HELM_BINARY=$(HELM) KUBE_TOOLS=$(KUBE_TOOLS) KUBE_CRDS=$(CRDS) $(GO) test -count=1 ./kube

# What computes goes before what measures.
e2e: chromium buildah build $(LLMD) $(PROMETHEUS) $(PROMTOOL) $(OTELCOL) $(HELM) ## the binary, its page in a browser, its metrics in real back ends, a server that is not ours, its chart and its image
	@echo "e2e: its log is $(CACHE)/e2e.log"
	@export PROBER_BINARY=$(BIN)/prober LLMD_BINARY=$(LLMD) HELM_BINARY=$(HELM) \
	  PROMETHEUS_BINARY=$(PROMETHEUS) PROMTOOL_BINARY=$(PROMTOOL) OTELCOL_BINARY=$(OTELCOL) && \
	  { (cd test/accuracy && $(GO) test -count=1 -v .) && cd test && \
	    for packages in ./chart ". ./history"; do \
	      $(GO) test -count=1 -parallel 4 -v $$packages || exit 1; \
	    done; } 2>&1 | \
	  tee $(CACHE)/e2e.log | grep -E '^(--- |ok|FAIL)|queries run' || { cat $(CACHE)/e2e.log; exit 1; }

generate: ## docs/metrics.md, docs/configuration.md, the classic rules, the dashboards and golden files
	$(GO) test ./cmd/prober ./internal/config ./internal/telemetry ./internal/report ./internal/status ./alerts ./dashboards/generate -update
	$(GO) test ./deploy -update # copies what the others write

generate-chart: build $(HELM) ## what Helm makes of the values in deploy/helm/prober/ci
	cd test && PROBER_BINARY=$(BIN)/prober HELM_BINARY=$(HELM) $(GO) test -count=1 ./chart -update

bench: ## benchmarks with allocations
	$(GO) test -run '^$$' -bench . -benchmem ./internal/...

# Built first: what compiles beside a measurement is in it. They need a machine that does nothing else.
accuracy: ## how exact arrivals are, on this machine: ten minutes and more, ACCURACY has flags for another
	mkdir -p $(BIN) && cd test/accuracy && $(GO) build -buildvcs=false -o $(BIN)/accuracy . && $(BIN)/accuracy $(ACCURACY)

clean:
	rm -rf $(BIN) $(CACHE) $(DIST)

# The image of the Dockerfile, in the store of the engine that builds it. A release pushes that of all platforms.
DIST           ?= $(CURDIR)/dist
IMAGE          ?= prober:devel
IMAGE_PLATFORM ?= linux/$(shell $(GO) env GOARCH)
ENGINE         ?= $(shell for e in docker podman buildah; do \
  if command -v $$e >/dev/null && { [ $$e != docker ] || docker info >/dev/null 2>&1; }; then echo $$e; break; fi; done)

.PHONY: image
image: ## the container image, by docker, podman or buildah
	@[[ -n "$(ENGINE)" ]] || { echo "make image needs docker with its daemon, podman or buildah. On Debian: apt-get install buildah"; exit 1; }
	CGO_ENABLED=0 GOOS=linux GOARCH=$(notdir $(IMAGE_PLATFORM)) \
	  $(GO) build -trimpath -ldflags='-s -w' -o $(DIST)/image/$(IMAGE_PLATFORM)/prober ./cmd/prober
	$(ENGINE) build --platform $(IMAGE_PLATFORM) -t $(IMAGE) -f Dockerfile \
	  --build-arg VERSION="$$(git describe --tags --always)" --build-arg REVISION="$$(git rev-parse HEAD)" $(DIST)/image

# What a release is made with.
ACTIONLINT := $(CACHE)/actionlint-$(shell cksum test/workflows/go.sum | cut -d' ' -f1)
$(ACTIONLINT):
	cd test/workflows && GOGC=400 CGO_ENABLED=0 $(GO) build -buildvcs=false -o $@ github.com/rhysd/actionlint/cmd/actionlint

GORELEASER := $(CACHE)/goreleaser-$(shell cksum test/release/go.sum | cut -d' ' -f1)
$(GORELEASER):
	cd test/release && GOGC=400 CGO_ENABLED=0 $(GO) build -buildvcs=false -trimpath -ldflags='-s -w' -o $@ github.com/goreleaser/goreleaser/v2

SBOM := $(BIN)/cyclonedx-gomod
$(SBOM): test/sbom/go.sum
	cd test/sbom && GOGC=400 CGO_ENABLED=0 $(GO) build -buildvcs=false -trimpath -o $@ github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod

.PHONY: workflows release-check snapshot helm
helm: $(HELM) ## bin/helm, of the version that the tests use
	@mkdir -p $(BIN) && ln -sf $(HELM) $(BIN)/helm

workflows: $(ACTIONLINT) ## the workflows of GitHub, checked
	$(ACTIONLINT) -shellcheck= -pyflakes=

release-check: workflows $(GORELEASER) ## the workflows and the release's configuration, checked
	$(GORELEASER) check

.PHONY: packages
packages: build
	deploy/packages/generate $(BIN)/prober dist/packages

snapshot: $(GORELEASER) $(SBOM) ## all files of a release but its image, in dist/release/, neither signed nor published
	$(GORELEASER) release --snapshot --clean --skip=publish,sign,docker
	cd test && $(GO) test -count=1 -run 'TestPackage$$' .

.PHONY: release
release: $(GORELEASER) $(SBOM) ## for the workflow of that name, on a tag: signs and publishes; NOTES is a file
	$(GORELEASER) release --clean --release-notes=$(NOTES)
