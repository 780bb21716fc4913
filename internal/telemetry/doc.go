// Package telemetry turns results into metrics, for scrapes of /metrics and for OTLP,
// from one catalog: no metric is named anywhere else in the program. The recorder
// is a loop over that catalog with two libraries beneath, client_golang and the
// OpenTelemetry SDK.
// The package never logs and never serves: it returns an [http.Handler], and reports
// its failures to a function that it is given.
package telemetry
