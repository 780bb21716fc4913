package main

import "strings"

// A served metric is a latency as the model server itself exports it: classic buckets
// only, in vLLM and SGLang alike.
type served struct{ title, ours, vllm, sglang string }

func serverLatencies() []served {
	return []served{
		{"TTFT", server, "vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds"},
		{"ITL", itl, "vllm:inter_token_latency_seconds", "sglang:inter_token_latency_seconds"},
		{"TPOT", tpot, "vllm:request_time_per_output_token_seconds", ""},
		{"E2E", e2el, "vllm:e2e_request_latency_seconds", "sglang:e2e_request_latency_seconds"},
	}
}

// A side is one target of the comparison with its model server. Two stacks often serve
// the same model, so the model's name does not tell their metrics apart.
type side struct {
	scope
	name   string // in legends
	chosen string // the variable with its server
}

func eachSide(both pair) []side {
	return []side{{both.a, "A", "server_a"}, {both.b, "B", "server_b"}}
}

// serverVariables choose each side's server, among those that have metrics.
func serverVariables() []variable {
	const measured = `{__name__=~"vllm:time_to_first_token_seconds_bucket|sglang:time_to_first_token_seconds_bucket"}`
	first, last := single("server_a", "Server of A", measured, "$server_label"), single("server_b", "Server of B", measured, "$server_label")
	first.Multi, last.Multi = true, true
	last.Sort = 2 // so that A and B differ at first
	first.Description = "The server whose metrics are compared with A in the last row"
	last.Description = "The server whose metrics are compared with B in the last row"
	labels := []string{"job", "instance", "namespace", "service", "pod"}
	return []variable{{
		Type: "custom", Name: "server_label", Label: "Servers by", Query: strings.Join(labels, ","), Options: choices(labels...),
		Description: "The label of the servers' metrics that distinguishes the server of A from that of B",
	}, first, last}
}

// theirs is a quantile of the chosen server's own histogram, its label model_name
// renamed, of the models that the side is asked for.
func (s side) theirs(q float64, histogram string) string {
	return `label_replace(histogram_quantile(` + number(q) + `, sum by (model_name, le) (rate(` +
		histogram + `_bucket{$server_label=~"$` + s.chosen + `"}` + window + `))), "model", "$1", "model_name", "(.+)")` +
		"\nand on (model) " + scope{s.matchers, "model"}.max(about)
}

// client is the median as the prober saw it.
func (s side) client(histogram string) string {
	return s.enough(s.quantile(0.5, histogram, window), 1)
}

func servers(both pair) []*panel {
	var panels []*panel
	for _, each := range serverLatencies() {
		var queries []query
		names := each.vllm
		if each.sglang != "" {
			names += " or " + each.sglang
		}
		for _, s := range eachSide(both) {
			queries = append(queries, over(s.client(each.ours), s.name+": client {{target}}"), over(s.theirs(0.5, each.vllm), s.name+": vLLM {{model}}"))
			if each.sglang != "" {
				queries = append(queries, over(s.theirs(0.5, each.sglang), s.name+": SGLang {{model}}"))
			}
		}
		panels = append(panels, lines(each.title+" p50: client and server", seconds, 12, 8, queries...).
			says("Median over the window, measured by the prober (TTFT from the last request byte) and by the server chosen for that side, which covers all its requests for the model and does not see queues in front of it. Server: "+names+".", each.ours))
	}
	return append(panels, queues(both), beyond(both))
}

func queues(both pair) *panel {
	vllm, sglang := "vllm:request_queue_time_seconds", "sglang:queue_time_seconds"
	var queries []query
	for _, s := range eachSide(both) {
		queries = append(queries,
			over(s.theirs(0.5, vllm), s.name+": vLLM p50 {{model}}"), over(s.theirs(0.95, vllm), s.name+": vLLM p95 {{model}}"),
			over(s.theirs(0.5, sglang), s.name+": SGLang p50 {{model}}"), over(s.theirs(0.95, sglang), s.name+": SGLang p95 {{model}}"))
	}
	return lines("Queue in the server", seconds, 12, 8, queries...).
		empty("No server metrics").
		says("Time that requests for the model waited in the queue of each side's server, over the window; SGLang: "+sglang+".", vllm)
}

// beyond is the part of TTFT that the server does not see.
func beyond(both pair) *panel {
	var queries []query
	for _, s := range eachSide(both) {
		minus := func(histogram string) string {
			return "(" + s.client(server) + ")\n- on (model) group_left ()\n(" + s.theirs(0.5, histogram) + ")"
		}
		queries = append(queries,
			over(minus("vllm:time_to_first_token_seconds"), s.name+": {{target}} − vLLM"), over(minus("sglang:time_to_first_token_seconds"), s.name+": {{target}} − SGLang"))
	}
	return lines("TTFT p50: client − server", seconds, 12, 8, queries...).
		empty("No server metrics").
		says("Median time from the last request byte to the first token, minus the server's own median: gateways, queues in front of the server and the network. "+
			"It also rises if our prompts are longer than those of other clients.", server)
}
