package report

import "fmt"

// ExampleCompare runs the example that interval.go explains.
func ExampleCompare() {
	pairs := Pairs{Metric: "TTFT", Values: [][2]float64{
		{0.800, 0.850}, {0.950, 0.990}, {0.700, 0.745}, {0.820, 0.880},
		{0.790, 0.835}, {0.900, 0.945}, {0.760, 0.815}, {0.810, 0.850},
	}}
	alike := func(metric string) Pairs { return Pairs{Metric: metric, Values: pairs.Values} }
	run := []Pairs{pairs, alike("TPOT"), alike("ITL"), alike("E2EL")}

	c := Compare(Comparison{A: "A", B: "B", Pair: "round"}, run)

	line := c.Lines[0]
	fmt.Printf("%d rounds, %d needed, of five steps %d\n", line.Pairs, line.Needed, PairsNeeded(5))
	fmt.Printf("B − A: %.0f ms, between %.0f and %.0f ms\n",
		1000*line.Difference.Center, 1000*line.Difference.Low, 1000*line.Difference.High)
	fmt.Println(line.Verdict)
	// Output:
	// 8 rounds, 8 needed, of five steps 10
	// B − A: 45 ms, between 40 and 60 ms
	// B is 4.2% to 7.3% slower than A
}
