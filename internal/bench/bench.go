// Package bench makes finite runs: steps of requests at a rate, all at once, or in a closed loop, to one target or to
// several that are compared.
//
// What comes in is a [CommandLine]: what the user asked for. [NewPlan] validates it into a [Plan], and [Run] carries
// that out, with the prompts and probes of internal/engine. What goes out is a report.Document (summaries, comparisons,
// warnings), in which all statistics are those of internal/report, and on the [Screen] the progress of the run.
//
// A run has a length of prompts, or several. For each length it has the groups of targets, and for each group the steps
// of the plan. A step is one [Load]: a sender sends its requests, and a tally collects their results. Start with Run,
// then read run.measure (the steps of a group), sender.run (when a request is sent) and tally.Record (what becomes of
// its result).
package bench
