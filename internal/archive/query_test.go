package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
)

// answers serves the same for whatever is asked.
func answers(status int, contentType, body string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	}
}

// TestErrors holds what is said when there is no answer: what was asked, of whom,
// why, and what to do.
func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request) bool
		want   []string
	}{
		"no Prometheus":   {answers(404, "text/plain", "404 page not found"), []string{"404", "no Prometheus API below that URL"}},
		"no credentials":  {answers(401, "text/plain", "Unauthorized"), []string{"401", "--prometheus-token-file"}},
		"wrong ones":      {answers(403, "text/html", "<html>no</html>"), []string{"403", "check --prometheus-token-file"}},
		"a login page":    {answers(200, "text/html", "<html>log in</html>"), []string{"not from a Prometheus", "login page"}},
		"an empty answer": {answers(200, "application/json", ""), []string{"not from a Prometheus"}},
		"too many samples": {
			answers(422, "application/json", `{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory in query execution"}`),
			[]string{"too many samples", "shorter range"},
		},
		"wrong question": {answers(400, "application/json", `{"status":"error","errorType":"bad_data","error":"parse\u001b[2J error"}`), []string{"bad_data: parse[2J error"}},
		"another thing":  {answers(200, "application/json", `{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`), []string{"is a scalar, want a matrix"}},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "https://sso.example.com/login?token=s3cret", http.StatusFound)
			return true
		}, []string{"redirects to https://sso.example.com/login:"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := (&fake{answer: test.answer}).open(t)
			_, err := a.growths(t.Context(), `c{a="b"}`, hours(1), false)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(test.want, `query "count_over_time(c{a=\"b\"}[360000ms])" from 2026-10-31T`, a.place) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nhas no %q", err, want)
				}
			}
			if strings.ContainsAny(err.Error(), "\x1b\n") || strings.Contains(err.Error(), "s3cret") || len(err.Error()) > 1000 {
				t.Errorf("%q", err)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	_, err := opened(t, server.URL, Options{Token: "s3cret"}).Records(t.Context(), Filter{}, hours(1))
	if err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
}

// TestLongAnswers holds that an answer ends where it may.
func TestLongAnswers(t *testing.T) {
	body := `{"status":"success","data":{"resultType":"matrix","result":[]}}`
	server := httptest.NewServer(&fake{answer: answers(200, "application/json", body)})
	defer server.Close()
	for most, tooLong := range map[int64]bool{int64(len(body)): false, int64(len(body)) - 1: true} {
		base := mustParse(t, server.URL)
		client, err := api.NewClient(api.Config{Address: server.URL, RoundTripper: &transport{base: base, most: most}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&Archive{api: v1.NewAPI(client)}).steps(t.Context(), "c", v1.Range{Start: midnight, End: midnight, Step: time.Second})
		if errors.Is(err, errTooLong) != tooLong || err != nil && !strings.Contains(err.Error(), "shorter range") {
			t.Errorf("%d bytes where there are %d: %v", most, len(body), err)
		}
	}
}

// TestPatience holds that a question ends when its time has, and with its context.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &Archive{api: hanging{}, place: "x"}
		began := time.Now()
		_, err := a.instant(t.Context(), "c", midnight)
		if err == nil || !strings.Contains(err.Error(), "shorter range") || time.Since(began) != patience {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.instant(ctx, "c", midnight); err == nil || time.Since(began) != patience+time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// TestToken holds that the token reaches its server, and no other one.
func TestToken(t *testing.T) {
	var heard []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { heard = append(heard, r.Header.Get("Authorization")) }))
	defer server.Close()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { heard = append(heard, r.Header.Get("Authorization")) }))
	defer other.Close()
	a := opened(t, server.URL, Options{Token: "s3cret"})
	if _, err := a.instant(t.Context(), "c", midnight); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
	if strings.Contains(fmt.Sprintf("%v %+v", a, a), "s3cret") {
		t.Error("the archive shows its token")
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, other.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&transport{token: "s3cret", base: mustParse(t, server.URL), most: 1}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if fmt.Sprint(heard) != "[Bearer s3cret ]" {
		t.Errorf("%q", heard)
	}
}

func TestWarningsOfPrometheus(t *testing.T) {
	f := &fake{warnings: []string{"store 10.0.0.1 is\x1b[2J down"}}
	a := f.open(t)
	if _, err := a.growths(t.Context(), `c{}`, hours(1), false); err != nil {
		t.Fatal(err)
	}
	if _, err := a.growths(t.Context(), `d{}`, hours(1), false); err != nil {
		t.Fatal(err)
	}
	if got := a.Warnings(); len(got) != 1 || got[0] != "Prometheus says: store 10.0.0.1 is[2J down" {
		t.Errorf("%q", got)
	}
}
