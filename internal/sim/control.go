package sim

import "net/http"

// controlBodyLimit is plenty for a fault.
const controlBodyLimit = 1 << 16

// controlRoutes are the simulator's own API, without a key: GET, PUT and DELETE /sim/fault, and GET /sim/sent. It answers JSON; errors are {"error":"…"}.
func (s *Server) controlRoutes() {
	s.mux.HandleFunc("GET /sim/fault", s.showFault)
	s.mux.HandleFunc("PUT /sim/fault", s.putFault)
	s.mux.HandleFunc("DELETE /sim/fault", func(w http.ResponseWriter, r *http.Request) {
		_ = s.SetFault(Fault{}) // the zero Fault is valid
		s.showFault(w, r)
	})
	s.mux.HandleFunc("GET /sim/sent", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, s.Sent())
	})
}

func (s *Server) showFault(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.Fault())
}

// putFault replaces the fault and shows it.
func (s *Server) putFault(w http.ResponseWriter, r *http.Request) {
	f, err := readFault(http.MaxBytesReader(w, r.Body, controlBodyLimit))
	if err == nil {
		err = s.SetFault(f)
	}
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	s.showFault(w, r)
}
