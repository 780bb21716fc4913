package prompt

// latin is the plain spelling of characters that books in Latin letters have,
// each after all that become it. The list is only read.
var latin = []struct{ plain, of string }{
	{"'", "‘’‚‛′´ʼ"}, {`"`, "“”„‟″«»"}, {"-", "‐‑‒–−"}, {"--", "—―"}, {"...", "…"}, {"*", "•·"},
	{"A", "ÀÁÂÃÅĀĂĄ"}, {"a", "àáâãåāăąª"}, {"AE", "ÄÆ"}, {"ae", "äæ"},
	{"C", "ÇĆĈĊČ"}, {"c", "çćĉċč"}, {"D", "ĎĐÐ"}, {"d", "ďđð"},
	{"E", "ÈÉÊËĒĔĖĘĚ"}, {"e", "èéêëēĕėęě"}, {"G", "ĜĞĠĢ"}, {"g", "ĝğġģ"}, {"H", "ĤĦ"}, {"h", "ĥħ"},
	{"I", "ÌÍÎÏĨĪĬĮİ"}, {"i", "ìíîïĩīĭįı"}, {"J", "Ĵ"}, {"j", "ĵ"}, {"K", "Ķ"}, {"k", "ķĸ"},
	{"L", "ĹĻĽĿŁ"}, {"l", "ĺļľŀł"}, {"N", "ÑŃŅŇŊ"}, {"n", "ñńņňŉŋ"},
	{"O", "ÒÓÔÕØŌŎŐ"}, {"o", "òóôõøōŏőº"}, {"OE", "ÖŒ"}, {"oe", "öœ"},
	{"R", "ŔŖŘ"}, {"r", "ŕŗř"}, {"S", "ŚŜŞŠȘ"}, {"s", "śŝşšșſ"}, {"ss", "ß"}, {"T", "ŢŤŦȚ"}, {"t", "ţťŧț"},
	{"TH", "Þ"}, {"th", "þ"}, {"U", "ÙÚÛŨŪŬŮŰŲ"}, {"u", "ùúûũūŭůűų"}, {"UE", "Ü"}, {"ue", "ü"},
	{"W", "Ŵ"}, {"w", "ŵ"}, {"Y", "ÝŶŸ"}, {"y", "ýÿŷ"}, {"Z", "ŹŻŽ"}, {"z", "źżž"},
	{"ff", "ﬀ"}, {"fi", "ﬁ"}, {"fl", "ﬂ"}, {"ffi", "ﬃ"}, {"ffl", "ﬄ"},
}

// spellings is the list by character.
func spellings() map[rune]string {
	plain := map[rune]string{}
	for _, row := range latin {
		for _, r := range row.of {
			plain[r] = row.plain
		}
	}
	return plain
}
