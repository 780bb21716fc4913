# syntax=docker/dockerfile:1
# One static binary and nothing else, for every platform that buildx is asked for:
#   docker buildx build --platform linux/amd64,linux/arm64 -t prober .
# Releases are made without Docker, by `make image`; a test holds the two together.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS TARGETARCH
# With .git in the context, the version and the revision are in the build info.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags='-s -w' -o /prober ./cmd/prober

# The public certificate authorities are in the binary.
FROM scratch
ARG VERSION=devel
ARG REVISION=unknown
LABEL org.opencontainers.image.title="prober" \
      org.opencontainers.image.description="Prometheus- and OpenTelemetry-native continuous prober for LLM inference endpoints" \
      org.opencontainers.image.source="https://github.com/llm-prober/prober" \
      org.opencontainers.image.documentation="https://github.com/llm-prober/prober#readme" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build --chmod=0555 /prober /prober
USER 65532:65532
EXPOSE 9464
ENTRYPOINT ["/prober"]
CMD ["run"]
