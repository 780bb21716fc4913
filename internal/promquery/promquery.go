// Package promquery reads from a Prometheus what probers have stored there, and makes the same summaries and
// comparisons of it that a bench makes of its requests.
//
// What comes in is a [Request]: the flags of prober report, as they were typed. [Request.Parse] checks it and returns
// a [Query]; [Query.Run] asks Prometheus. What goes out is a report.Document. The statistics are those of
// internal/report.
//
// A record is what is stored of one series: a target with its model and prompt, from one vantage. Start with Query.Run,
// then reader.records, which asks for the counters, latencies and error budgets of all records. reader.go and
// expression.go have the PromQL, client.go the HTTP. What the answers mean is in record.go, latency.go and budget.go,
// whose functions need no Prometheus. compare.go compares two records by periods.
package promquery
