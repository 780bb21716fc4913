# syntax=docker/dockerfile:1
# One static binary and nothing else; it holds the public certificate authorities. The context has a binary for each
# platform, in linux/amd64/prober and linux/arm64/prober: `make image` and a release build them first.
FROM scratch
ARG TARGETPLATFORM
ARG VERSION=devel
ARG REVISION=unknown
LABEL org.opencontainers.image.title="prober" \
      org.opencontainers.image.description="Prometheus- and OpenTelemetry-native continuous prober for LLM inference endpoints" \
      org.opencontainers.image.source="https://github.com/llm-prober/prober" \
      org.opencontainers.image.documentation="https://github.com/llm-prober/prober#readme" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --chmod=0555 ${TARGETPLATFORM}/prober /prober
USER 65532:65532
EXPOSE 9464
ENTRYPOINT ["/prober"]
CMD ["run"]
