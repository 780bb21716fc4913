module github.com/llm-prober/prober/test/release

go 1.26.3

require github.com/goreleaser/goreleaser/v2 v2.16.0

tool github.com/goreleaser/goreleaser/v2
