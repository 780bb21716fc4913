package main

// A served metric is a latency as a model server tells it itself; classic buckets
// only, as both export them today.
type served struct{ title, ours, vllm, sglang string }

func serverLatencies() []served {
	return []served{
		{"TTFT", server, "vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds"},
		{"ITL", itl, "vllm:inter_token_latency_seconds", "sglang:inter_token_latency_seconds"},
		{"TPOT", tpot, "vllm:request_time_per_output_token_seconds", ""},
		{"E2E", e2el, "vllm:e2e_request_latency_seconds", "sglang:e2e_request_latency_seconds"},
	}
}

// theirs is a quantile of a server's own histogram, its label model_name renamed,
// of the models that A and B are asked for.
func (p pair) theirs(q float64, histogram string) string {
	return `label_replace(histogram_quantile(` + number(q) + `, sum by (model_name, le) (rate(` + histogram + `_bucket` + window +
		`))), "model", "$1", "model_name", "(.+)")` + "\nand on (model) (" + p.models() + ")"
}

// models are those that A and B are asked for.
func (p pair) models() string {
	return scope{sideA, "model"}.max(about) + " or " + scope{sideB, "model"}.max(about)
}

func servers(both pair) []*panel {
	var panels []*panel
	for _, each := range serverLatencies() {
		queries := []query{
			over(both.a.enough(both.a.quantile(0.5, each.ours, window), 1), "client {{target}}"),
			over(both.b.enough(both.b.quantile(0.5, each.ours, window), 1), "client {{target}}"),
			over(both.theirs(0.5, each.vllm), "vLLM {{model}}"),
		}
		names := each.vllm
		if each.sglang != "" {
			queries = append(queries, over(both.theirs(0.5, each.sglang), "SGLang {{model}}"))
			names += " or " + each.sglang
		}
		panels = append(panels, lines(each.title+" p50: client and server", seconds, 12, 8, queries...).
			says("Median over the window as the prober saw it (TTFT from the last request byte), and as the server tells it for all its requests of that model, ours and others': it cannot see what queues before it. Server: "+names+".", each.ours))
	}
	return append(panels, queues(both), beyond(both))
}

func queues(both pair) *panel {
	vllm, sglang := "vllm:request_queue_time_seconds", "sglang:queue_time_seconds"
	return lines("Queue in the server", seconds, 12, 8,
		over(both.theirs(0.5, vllm), "vLLM p50 {{model}}"), over(both.theirs(0.95, vllm), "vLLM p95 {{model}}"),
		over(both.theirs(0.5, sglang), "SGLang p50 {{model}}"), over(both.theirs(0.95, sglang), "SGLang p95 {{model}}")).
		empty("No metrics of the server").
		says("How long requests of that model waited in the server's own queue, over the window; SGLang: "+sglang+".", vllm)
}

// beyond is what the client waited for and the server does not know of.
func beyond(both pair) *panel {
	minus := func(s scope, histogram string) string {
		return "(" + s.enough(s.quantile(0.5, server, window), 1) + ")\n- on (model) group_left ()\n(" + both.theirs(0.5, histogram) + ")"
	}
	v, g := "vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds"
	return lines("TTFT p50: client − server", seconds, 12, 8,
		over(minus(both.a, v), "{{target}} − vLLM"), over(minus(both.b, v), "{{target}} − vLLM"),
		over(minus(both.a, g), "{{target}} − SGLang"), over(minus(both.b, g), "{{target}} − SGLang")).
		empty("No metrics of the server").
		says("Median time from the last request byte to the first token, less the server's own: gateways, queues before it and the network. "+
			"Long prompts among short ones of other clients raise it too.", server)
}
