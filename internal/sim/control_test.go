package sim

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestControlAPI(t *testing.T) {
	bubble(t, Config{APIKey: "k"}, func(t *testing.T, r *rig) {
		put := func(body string) heard { return r.do(t.Context(), t, http.MethodPut, "/sim/fault", body) }
		for _, test := range []struct {
			name, got, want string
		}{
			{"none at first", r.get(t, "/sim/fault").text(), "{}\n"},
			{"put", put(`{"itl":1.15,"slow_headers":"350ms","hang":true}`).text(), `{"hang":true,"slow_headers":"350ms","itl":1.15}` + "\n"},
			{"bad", put(`{"itl":-1}`).text(), `{"error":"fault: itl, ttft: want a factor of 0.001 to 1000 (1.15 is 15% slower)"}` + "\n"},
			{"bad changes nothing", r.get(t, "/sim/fault").text(), `{"hang":true,"slow_headers":"350ms","itl":1.15}` + "\n"},
			{"delete", r.do(t.Context(), t, http.MethodDelete, "/sim/fault", "").text(), "{}\n"},
			{"nothing sent", r.get(t, "/sim/sent").text(), "[]\n"},
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

func TestControlShowsTheTruth(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, r *rig) {
		r.post(t, "/v1/completions", `{"prompt":[1,2],"max_tokens":1,"stream":true}`)
		start := time.Now().Add(-20 * time.Millisecond)
		want := []Sent{{ID: 1, Prompt: 2, Start: start, Frames: []SentFrame{{start.Add(20 * time.Millisecond), 1}}, Output: 1, Finish: "length"}}
		var sent []Sent
		if err := json.Unmarshal([]byte(r.get(t, "/sim/sent").text()), &sent); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, sent); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
	})
}
