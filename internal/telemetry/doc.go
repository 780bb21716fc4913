// Package telemetry turns results into metrics, once for /metrics and once for
// OTLP, from one catalog: no metric is named anywhere else in the program. The
// two recorders are the same loop over that catalog with different libraries
// beneath. The package never probes, never logs and never serves: it hands out an
// [http.Handler], and reports its failures to a function that it is given.
package telemetry
