// Package archive reads what a Prometheus has stored of probes, and makes of it
// the summaries and comparisons that a bench makes of requests. It writes nothing
// and measures nothing.
package archive
