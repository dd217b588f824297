package simprovider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
)

// systems are the business systems that there are.
var systems = []string{"tickets", "payments", "mail", "contacts", "fax"}

// AddFaults puts a script in force behind those that are there, and returns
// its number. A script that could never do what it says is refused.
func (s *Server) AddFaults(script Script) (int, error) {
	if err := script.check(); err != nil {
		return 0, fmt.Errorf("add faults: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scripts.add(script).ID, nil
}

// ClearFaults ends all scripts. Late commits that are on their way still come.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts.list = nil
}

// SetToken changes the bearer token from now on; empty asks for none.
func (s *Server) SetToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// Report is all that happened under one name.
type Report struct {
	Reference string `json:"reference"`
	Count     int    `json:"count"`    // effects
	Requests  int    `json:"requests"` // writes that arrived
	Pending   int    `json:"pending"`  // late commits still to come
	Items     []Row  `json:"items"`    // one per system and action
}

// Effects tells what happened under a reference, an alias or an effect's ID.
func (s *Server) Effects(reference string) Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return report(reference, s.books.view(s.books.named[reference]))
}

// Summary tells what happened under every reference, in order of arrival.
func (s *Server) Summary() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return report("", s.books.view(s.books.order))
}

func report(reference string, items []Row) Report {
	rep := Report{Reference: reference, Items: items}
	for _, row := range items {
		rep.Count += row.Count
		rep.Requests += row.Requests
		rep.Pending += row.Pending
	}
	return rep
}

// view copies rows for the outside and adds up their reads.
func (b *books) view(rows []*Row) []Row {
	out := make([]Row, 0, len(rows))
	for _, row := range rows {
		seen := *row
		seen.Aliases = slices.Clone(row.Aliases)
		seen.EffectIDs = slices.Clone(row.EffectIDs)
		seen.Faults = maps.Clone(row.Faults)
		for _, name := range slices.Concat([]string{row.Reference}, row.Aliases, row.EffectIDs) {
			seen.Reads += b.reads[[2]string{row.System, name}]
		}
		out = append(out, seen)
	}
	return out
}

func (s *Server) effects(w http.ResponseWriter, r *http.Request) {
	reference := r.URL.Query().Get("reference")
	if reference == "" {
		refusal(http.StatusBadRequest, "invalid", "reference= is missing; /effects/summary lists all").send(w)
		return
	}
	jsonAnswer(http.StatusOK, s.Effects(reference)).send(w)
}

func (s *Server) effectsSummary(w http.ResponseWriter, r *http.Request) {
	rep := s.Summary()
	if system := r.URL.Query().Get("system"); system != "" {
		rep = report("", slices.DeleteFunc(rep.Items, func(row Row) bool { return row.System != system }))
	}
	jsonAnswer(http.StatusOK, rep).send(w)
}

func (s *Server) listFaults(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	list := jsonAnswer(http.StatusOK, map[string]any{"items": append([]*running{}, s.scripts.list...)})
	s.mu.Unlock()
	list.send(w)
}

func (s *Server) addFaults(w http.ResponseWriter, r *http.Request) {
	var script Script
	if err := decodeControl(w, r, &script); err != nil {
		refusal(http.StatusBadRequest, "bad_faults", err.Error()).send(w)
		return
	}
	id, err := s.AddFaults(script)
	if err != nil {
		refusal(http.StatusBadRequest, "bad_faults", err.Error()).send(w)
		return
	}
	jsonAnswer(http.StatusCreated, map[string]int{"id": id}).send(w)
}

func (s *Server) clearFaults(w http.ResponseWriter, _ *http.Request) {
	s.ClearFaults()
	answer{status: http.StatusNoContent}.send(w)
}

func (s *Server) changeCredentials(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Token *string `json:"token"`
	}
	if err := decodeControl(w, r, &body); err != nil || body.Token == nil {
		refusal(http.StatusBadRequest, "invalid", `the body must be {"token": "..."}`).send(w)
		return
	}
	s.SetToken(*body.Token)
	answer{status: http.StatusNoContent}.send(w)
}

// decodeControl is strict, unlike the business systems: a drill that misspells
// a member must not run without its faults.
func decodeControl(w http.ResponseWriter, r *http.Request, v any) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, BodyBytesMax))
	if err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return fmt.Errorf("decode body: %w", err)
	}
	return nil
}
