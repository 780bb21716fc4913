// Package bench makes finite runs: steps of requests at a rate, all at once, or in a closed loop, to one target or to
// several that are compared.
//
// What comes in is a [CommandLine]: what the user asked for. [Parse] validates it into a [Plan], and [Run] carries it
// out, with the prompts and probes of internal/engine. What goes out is a report.Document (summaries, comparisons,
// warnings), in which all statistics are those of internal/report, and on the [Screen] the progress of the run.
//
// A run has a length of prompts, or several. For each it has the groups of targets, for each of these the steps of the
// plan (see [Load]), and for each step a tally of its results. Start with Run, then run.measure (the steps of a group),
// then step.run (when a request is sent) and tally (what becomes of its result). heartbeat.go measures whether the
// bench itself was too slow for what it measured.
package bench
