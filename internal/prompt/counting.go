package prompt

import "strings"

var (
	small = strings.Fields(`zero one two three four five six seven eight nine ten eleven twelve thirteen
		fourteen fifteen sixteen seventeen eighteen nineteen`)
	tens = strings.Fields("zero ten twenty thirty forty fifty sixty seventy eighty ninety")
)

// counting is the first n words of one two three and so on.
func counting(n int) string {
	spelt := make([]string, 0, n+8)
	for i := 1; len(spelt) < n; i++ {
		spelt = spell(spelt, i)
	}
	return strings.Join(spelt[:n], " ")
}

// spell appends n, from 1 to 999999, in English words.
func spell(to []string, n int) []string {
	if n >= 1000 {
		to, n = append(spell(to, n/1000), "thousand"), n%1000
	}
	if n >= 100 {
		to, n = append(to, small[n/100], "hundred"), n%100
	}
	if n >= 20 {
		to, n = append(to, tens[n/10]), n%10
	}
	if n > 0 {
		to = append(to, small[n])
	}
	return to
}
