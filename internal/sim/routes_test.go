package sim

import (
	"net/http"
	"strings"
	"testing"
)

func TestControlAPI(t *testing.T) {
	bubble(t, Config{APIKey: "k"}, func(t *testing.T, r *rig) {
		get := func(path string) string { return r.do(t.Context(), t, http.MethodGet, path, "").text() }
		put := func(body string) heard { return r.do(t.Context(), t, http.MethodPut, "/sim/fault", body) }
		for _, test := range []struct {
			name, got, want string
		}{
			{"none at first", get("/sim/fault"), "{}\n"},
			{"put", put(`{"itl":1.15,"slow_headers":"350ms","hang":true}`).text(), `{"hang":true,"slow_headers":"350ms","itl":1.15}` + "\n"},
			{"bad", put(`{"itl":-1}`).text(), `{"error":"fault: itl, ttft: want a factor of 0.001 to 1000 (1.15 is 15% slower)"}` + "\n"},
			{"bad changes nothing", get("/sim/fault"), `{"hang":true,"slow_headers":"350ms","itl":1.15}` + "\n"},
			{"delete", r.do(t.Context(), t, http.MethodDelete, "/sim/fault", "").text(), "{}\n"},
			{"nothing sent", get("/sim/sent"), "[]\n"},
		} {
			if test.got != test.want {
				t.Errorf("%s:\n got %s\nwant %s", test.name, test.got, test.want)
			}
		}
		if got := put(`nonsense`); got.status != 400 || !strings.Contains(got.text(), "fault: invalid character") {
			t.Errorf("nonsense: status %d, %s", got.status, got.text())
		}
	})
}
