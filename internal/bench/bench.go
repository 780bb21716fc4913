// Package bench is a finite run: steps of requests at a rate, at once, or so many
// at a time. It knows no configuration, no tables and no metrics.
package bench
