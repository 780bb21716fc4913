# prober: build, check, test; `make help` lists the targets. A target builds the tools that it needs itself, once per version.
# Nothing is installed.

GO       ?= go
CACHE    := $(CURDIR)/.cache
BIN      := $(CURDIR)/bin
DIST     ?= $(CURDIR)/dist
FUZZTIME ?= 20000x

export GOFLAGS := -buildvcs=auto
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

# A lazy garbage collector makes the compiler faster. It is not exported, because tests and benchmarks would run with it as well.
LAZY    := GOGC=400
COMPILE := $(LAZY) CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w'

.PHONY: build demo help check test fmt vet race fuzz lint workflows rules chromium buildah e2e e2e-backends e2e-chart e2e-rules \
  e2e-page e2e-image nightly history drill accuracy-smoke kube helm generate generate-chart bench accuracy clean \
  image packages release-check snapshot release

##@ Every day

build: ## the binary, in bin/
	$(COMPILE) -o $(BIN)/prober ./cmd/prober

demo: ## the simulator and the prober in one process
	$(GO) run ./cmd/prober demo

help: ## this list
	@awk -F ':[^#]*## ' '/^##@ / {print "\n" substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Tests are vetted once, by vet, and not again by go test.
check: fmt vet ## the quick loop: format, vet, and the tests that have not passed yet on this code, without the exhaustive ones
	$(GO) test -vet=off -short ./...

# $(call tested,ARGUMENTS) is `go test ARGUMENTS` with a line for each test that was skipped at its end.
tested = $(GO) test -vet=off -json $(1) | $(GO) run $(CURDIR)/test/skips/main.go

# Golden tests compare the generated files with what the code says. Needs Go and nothing else.
test: fmt vet ## format, vet, all tests of the main module in a random order, and the syntax of all PromQL
	$(call tested,-shuffle=on ./...)
	cd test/rules && $(call tested,./syntax)

clean: ## remove what was built
	rm -rf $(BIN) $(CACHE) $(DIST)

fmt:
	@unformatted=$$(gofmt -l alerts cmd dashboards deploy internal test); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change: $$unformatted"; exit 1; fi

vet:
	$(LAZY) $(GO) vet ./...

##@ Before a release, and in CI

race: ## the tests of the main module with the race detector, which needs a C compiler
	$(LAZY) $(GO) build -race ./...
	$(call tested,-race -shuffle=on ./...)

# Fuzzing counts executions instead of time, because a run that ends by its time sometimes fails with "context deadline
# exceeded" and no failing input (https://go.dev/issue/75804). Interesting inputs are not minimized, which would take a minute
# for each.
fuzz: ## every fuzz test, 20,000 executions each: FUZZTIME=1000000x for more
	@for pkg in $$(grep -rlE '^func Fuzz' --include='*_test.go' internal | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -rhoE '^func Fuzz[A-Za-z0-9]*' $$pkg | sed 's/^func //'); do \
	    echo "fuzz $$pkg $$f"; \
	    $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x ./$$pkg; \
	  done; \
	done

# $(call tool,MODULE,NAME) is the path of a tool of test/MODULE/go.mod, which Go builds and keeps in its own cache.
tool = $$($(LAZY) $(GO) tool -n -modfile=test/$(1)/go.mod $(2))

# The tests are modules of their own, which have fewer rules.
LINTED := test test/accuracy test/rules

lint: workflows ## all linters of .golangci.yml, assignments hidden in conditions, unreachable functions, and the workflows of GitHub
	@echo "hidden assignments"; $(GO) -C test/lint run ./hidden ../..
	@echo "unreachable functions"; $(call tool,lint,deadcode) -test ./... | tee /dev/stderr | awk 'END {exit NR > 0}'
	@golangci=$(call tool,lint,golangci-lint); \
	echo "golangci-lint"; $$golangci run ./...; \
	for module in $(LINTED); do \
	  echo "golangci-lint $$module"; (cd $$module && $$golangci run --enable-only govet,staticcheck,unused ./...); \
	done

workflows: ## the workflows of GitHub, checked
	$(call tool,workflows,actionlint) -shellcheck= -pyflakes=

# Programs of others that the tests run, each built from its own pinned module: a simulator of vLLM, Prometheus and its promtool,
# an OpenTelemetry Collector, Sloth.
LLMD := $(CACHE)/llm-d-inference-sim-$(shell cksum test/llmd/go.sum | cut -d' ' -f1)
$(LLMD):
	cd test/llmd && $(COMPILE) -o $@ github.com/llm-d/llm-d-inference-sim/cmd/llm-d-inference-sim

PROMETHEUS_VERSION := $(shell sed -nE 's|.*prometheus/prometheus (v[0-9.]+).*|\1|p' test/go.mod)
PROMETHEUS := $(CACHE)/prometheus-$(PROMETHEUS_VERSION)
PROMTOOL   := $(CACHE)/promtool-$(PROMETHEUS_VERSION)
$(PROMETHEUS) $(PROMTOOL): $(CACHE)/%-$(PROMETHEUS_VERSION):
	cd test && $(COMPILE) -tags netgo,remove_all_sd -o $@ github.com/prometheus/prometheus/cmd/$*

OTELCOL := $(CACHE)/otelcol-$(shell cat test/otelcol/main.go test/otelcol/go.sum | cksum | cut -d' ' -f1)
$(OTELCOL):
	cd test/otelcol && $(COMPILE) -buildvcs=false -o $@ .

SLOTH := $(CACHE)/sloth-$(shell cat test/sloth/main.go test/sloth/go.sum | cksum | cut -d' ' -f1)
$(SLOTH):
	cd test/sloth && $(COMPILE) -buildvcs=false -o $@ .

# Kubernetes and Helm for the chart, in one program with a name for each of its parts; Helm by itself as well. Most of it is
# compiled only for this program. Without inlining and debugging data that takes half as long.
KUBE_TOOLS := $(CACHE)/kube-$(shell cat test/kubetools/main.go test/kubetools/go.sum | cksum | cut -d' ' -f1)
KUBE_VERSION := $(shell sed -nE 's|.*k8s.io/kubernetes v([0-9.]+).*|\1|p' test/kubetools/go.mod)
KUBE_LDFLAGS := -s -w -X k8s.io/component-base/version.gitVersion=v$(KUBE_VERSION) \
  -X k8s.io/component-base/version.gitMajor=$(word 1,$(subst ., ,$(KUBE_VERSION))) \
  -X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(KUBE_VERSION)))
KUBE_BUILD := $(COMPILE) -buildvcs=false -gcflags='...=-l -dwarf=false' -gcflags=std= -ldflags='$(KUBE_LDFLAGS)'
HELM := $(CACHE)/helm-$(shell cksum test/kubetools/go.sum | cut -d' ' -f1)
$(HELM):
	cd test/kubetools && $(KUBE_BUILD) -o $@ helm.sh/helm/v4/cmd/helm
$(KUBE_TOOLS):
	@rm -rf $@.part && mkdir -p $@.part
	cd test/kubetools && $(KUBE_BUILD) -o $@.part/ .
	cd $@.part && for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok helm; do ln -s kubetools $$name; done
	cd test/kubetools && cp -r $$($(GO) list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage $@.part/stage
	@chmod -R u+w $@.part && mv $@.part $@

# The CRDs of the operators that the chart and the sidecar work with, out of their modules.
CRDS := $(CACHE)/crds-$(shell cat test/crds/files.txt test/crds/go.sum | cksum | cut -d' ' -f1)
$(CRDS):
	@rm -rf $@.part && mkdir -p $@.part
	cd test/crds && while read -r module file; do \
	  cp "$$($(GO) mod download -json $$module | sed -nE 's/^\t"Dir": "(.*)",$$/\1/p')/$$file" $@.part/; \
	done <files.txt
	@chmod -R u+w $@.part && mv $@.part $@

# Fails before the long work starts.
chromium:
	@command -v chromium chromium-browser google-chrome >/dev/null || { \
	  echo "The status page is tested in a browser, and neither chromium nor google-chrome is in the PATH."; \
	  echo "On Debian: apt-get install chromium"; \
	  exit 1; }
buildah:
	@command -v buildah >/dev/null || { \
	  echo "The image is built with buildah, which is not in the PATH."; \
	  echo "On Debian: apt-get install buildah"; \
	  exit 1; }

rules: $(PROMTOOL) ## each alert on both sides of its numbers, and stories, by promtool; ALERT=NAME for one alert
	cd test/rules && PROMTOOL_BINARY=$(PROMTOOL) $(call tested,-count=1 $(if $(ALERT),-run "^TestTable$$/^$(ALERT) |^TestEveryAlert") .)

e2e: chromium buildah accuracy-smoke e2e-image e2e-page e2e-chart e2e-rules e2e-backends ## the binary with programs that are not ours: all of e2e-…

# These targets run tests of one package, which share their helpers. Each test belongs to one target.
RULE_TESTS := Rules|Alerts|Sloth|Pyrra
e2e-rules e2e-backends drill: export PROBER_BINARY := $(BIN)/prober
e2e-rules e2e-backends drill: export LLMD_BINARY := $(LLMD)
e2e-rules e2e-backends drill: export PROMETHEUS_BINARY := $(PROMETHEUS)
e2e-rules e2e-backends drill: export PROMTOOL_BINARY := $(PROMTOOL)
e2e-rules e2e-backends drill: export OTELCOL_BINARY := $(OTELCOL)
e2e-rules e2e-backends drill: export SLOTH_BINARY := $(SLOTH)

e2e-backends: build $(LLMD) $(PROMETHEUS) $(PROMTOOL) $(OTELCOL) ## metrics and dashboards in Prometheus and a Collector; llm-d's simulator as a target
	cd test && $(call tested,-count=1 -timeout 30m -parallel 4 -skip '$(RULE_TESTS)|Drill' .)

e2e-rules: build $(PROMETHEUS) $(PROMTOOL) $(SLOTH) ## rules in Prometheus, Alertmanager and Sloth: who is told of which fault
	cd test && $(call tested,-count=1 -timeout 30m -parallel 4 -run '$(RULE_TESTS)' .)

e2e-chart: build $(HELM) ## the chart, rendered by Helm
	cd test && PROBER_BINARY=$(BIN)/prober HELM_BINARY=$(HELM) $(call tested,-count=1 ./chart)

e2e-page: chromium build ## the status page in chromium
	cd test && PROBER_BINARY=$(BIN)/prober $(call tested,-count=1 ./page)

e2e-image: buildah build ## the image, built with buildah and run as root
	cd test && PROBER_BINARY=$(BIN)/prober $(call tested,-count=1 ./image)

accuracy-smoke: ## the measurement of `make accuracy` runs, whatever the times are
	cd test/accuracy && $(call tested,-count=1 .)

##@ Each night

nightly: history drill kube ## all of the following

# All scenarios are those of docs/regression.md and of test/history/testdata/rows.md.
history: ## what alerts and comparisons find in simulated weeks and runs; HISTORY=-long: in all scenarios
	$(call tested,-count=1 -timeout 1h ./internal/stats -long)
	cd test && $(call tested,-count=1 -timeout 5h ./history $(HISTORY))

drill: build $(PROMETHEUS) ## the commands of docs/drill.md, until the alert has fired and ended: two minutes
	cd test && $(call tested,-count=1 -run Drill .)

CHART ?= $(CURDIR)/deploy/helm/prober

kube: build $(HELM) $(KUBE_TOOLS) $(CRDS) ## the chart, or that in the folder CHART, and Kustomize in a real Kubernetes, whose first build takes ten minutes
	cd test && PROBER_BINARY=$(BIN)/prober HELM_BINARY=$(HELM) KUBE_TOOLS=$(KUBE_TOOLS) KUBE_CRDS=$(CRDS) KUBE_CHART=$(CHART) \
	  $(GO) test -count=1 ./kube

##@ Generated files

generate: ## documentation, schemas, dashboards, rules, golden files: all of them, even if a test fails
	status=0; \
	$(GO) test ./cmd/prober ./internal/config ./internal/telemetry ./internal/report ./internal/status ./internal/check \
	  ./internal/engine ./alerts ./dashboards/generate -update || status=$$?; \
	$(GO) test ./deploy -update || status=$$?; \
	exit $$status # deploy comes last, because it copies what the others write

generate-chart: build $(HELM) ## golden files of the chart, which need Helm
	cd test && PROBER_BINARY=$(BIN)/prober HELM_BINARY=$(HELM) $(GO) test -count=1 ./chart -update

##@ Measurements

bench: ## benchmarks with allocations
	$(GO) test -run '^$$' -bench . -benchmem ./internal/...

# Built first, because a compiler beside a measurement disturbs it. Measurements need a machine that does nothing else.
accuracy: ## how exact arrivals are, on this machine: ten minutes and more, ACCURACY has flags for another
	mkdir -p $(BIN) && cd test/accuracy && $(GO) build -buildvcs=false -o $(BIN)/accuracy . && $(BIN)/accuracy $(ACCURACY)

##@ Releases

# The image of the Dockerfile, in the store of the engine that builds it. A release pushes an image for all platforms.
IMAGE          ?= prober:devel
IMAGE_PLATFORM ?= linux/$(shell $(GO) env GOARCH)
ENGINE         ?= $(shell for e in docker podman buildah; do \
  if command -v $$e >/dev/null && { [ $$e != docker ] || docker info >/dev/null 2>&1; }; then echo $$e; break; fi; done)

image: ## the container image, by docker, podman or buildah
	@[[ -n "$(ENGINE)" ]] || { echo "make image needs docker with its daemon, podman or buildah. On Debian: apt-get install buildah"; exit 1; }
	GOOS=linux GOARCH=$(notdir $(IMAGE_PLATFORM)) $(COMPILE) -o $(DIST)/image/$(IMAGE_PLATFORM)/prober ./cmd/prober
	$(ENGINE) build --platform $(IMAGE_PLATFORM) --target release -t $(IMAGE) -f Dockerfile \
	  --build-arg VERSION="$$(git describe --tags --always)" --build-arg REVISION="$$(git rev-parse HEAD)" $(DIST)/image

helm: $(HELM) ## bin/helm, of the version that the tests use
	@mkdir -p $(BIN) && ln -sf $(HELM) $(BIN)/helm

packages: ## man pages and completions, in dist/packages
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(GO) test -count=1 -run '^TestPackageFiles$$' ./cmd/prober -packages $(CURDIR)/dist/packages

release-check: workflows ## the workflows and the release's configuration, checked
	$(call tool,release,goreleaser) check

snapshot: ## all files of a release but its image, in dist/release/, neither signed nor published
	$(call tool,release,goreleaser) release --snapshot --clean --skip=publish,sign,docker
	cd test && $(GO) test -count=1 -run 'TestPackage$$' ./image

release: ## for the workflow of that name, on a tag: publishes a draft with NOTES, a file, and the image
	$(call tool,release,goreleaser) release --clean --release-notes=$(NOTES)
