package history

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestTry(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	n, _ := strconv.Atoi(os.Getenv("N"))
	var list []scenario
	for i := range max(n, 1) {
		s := seed + uint64(i)*100
		for _, name := range strings.Split(os.Getenv("SC"), ",") {
			sc := scenario{name: fmt.Sprintf("%s#%d", name, s), seed: s}
			for p := range strings.SplitSeq(name, ":") {
				switch {
				case strings.HasPrefix(p, "itl"):
					sc.itl, _ = strconv.ParseFloat(p[3:], 64)
				case strings.HasPrefix(p, "ttft"):
					sc.ttft, _ = strconv.ParseFloat(p[4:], 64)
				case p == "slow":
					sc.interval = 100 * time.Second
				case p == "classic":
					sc.classic = true
				case p == "cold":
					sc.cold = true
				case p == "pair":
					sc.group = fmt.Sprint("g", s)
					sc.seed += 7
				}
			}
			list = append(list, sc)
		}
	}
	rules := os.Getenv("RULES")
	if rules == "" {
		rules = "../../alerts/rules.yaml"
	}
	begin := time.Now()
	for _, r := range run(t, rules, pace{scrape: time.Minute, slowest: 2 * time.Minute}, list) {
		fmt.Println(r.scenario.name)
		for _, f := range r.findings {
			slices.Sort(f.delays)
			fmt.Println("   ", f.alert, len(f.delays), f.delays, f.bases, "false", f.wrong, "early", f.early)
		}
		for _, e := range r.episodes {
			if os.Getenv("V") != "" {
				fmt.Println("       ", e.from, e.to.Sub(e.from), e.labels)
			}
		}
	}
	fmt.Println(time.Since(begin))
}
