# syntax=docker/dockerfile:1
# An image with one static binary, which holds the public certificate authorities, and nothing else.
#
#   docker build .                     compiles a checkout
#   docker build --target release DIR  takes DIR/linux/amd64/prober or DIR/linux/arm64/prober: make image, and a release

FROM scratch AS image
ARG VERSION=devel
ARG REVISION=unknown
LABEL org.opencontainers.image.title="prober" \
      org.opencontainers.image.description="Prometheus- and OpenTelemetry-native continuous prober for LLM inference endpoints" \
      org.opencontainers.image.source="https://github.com/llm-prober/prober" \
      org.opencontainers.image.documentation="https://github.com/llm-prober/prober#readme" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
USER 65532:65532
EXPOSE 9464
ENTRYPOINT ["/prober"]
CMD ["run"]

FROM image AS release
ARG TARGETPLATFORM
COPY --chmod=0555 ${TARGETPLATFORM}/prober /prober

FROM --platform=$BUILDPLATFORM golang:1.26.8 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
RUN --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags='-s -w' -o /prober ./cmd/prober

FROM image
COPY --chmod=0555 --from=build /prober /prober
