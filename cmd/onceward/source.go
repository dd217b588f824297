package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward/contract"
)

// sourceView is a document of kind Source as JSON shows it.
type sourceView struct {
	Name           string   `json:"name"`
	Description    string   `json:"description,omitempty"`
	Version        string   `json:"version"`
	File           string   `json:"file"`
	Line           int      `json:"line"`
	BusinessOwner  string   `json:"business_owner,omitempty"`
	TechnicalOwner string   `json:"technical_owner,omitempty"`
	Tenant         string   `json:"tenant"`
	Path           string   `json:"path"`
	Scheme         string   `json:"scheme"`
	Secrets        []string `json:"secrets"`
	Window         string   `json:"window"`
	Retries        string   `json:"retries,omitempty"`
	Tools          []string `json:"tools"`
	Source         string   `json:"source,omitempty"`
}

func sourceViewOf(s *contract.EventSource) sourceView {
	i := s.Info()
	v := sourceView{Name: i.Name, Description: i.Description, Version: i.Version, File: s.File(), Line: s.Line(), BusinessOwner: i.BusinessOwner, TechnicalOwner: i.TechnicalOwner,
		Tenant: string(i.Tenant), Path: "/v1/hooks/" + i.Name, Scheme: i.Scheme, Secrets: s.SecretNames(), Window: i.Window.String(), Tools: []string{}}
	if s.Retries() > 0 {
		v.Retries = s.Retries().String()
	}
	for _, t := range i.Tools {
		v.Tools = append(v.Tools, string(t))
	}
	return v
}

func sourceViews(set *contract.Set) []sourceView {
	views := []sourceView{}
	for _, s := range set.EventSources() {
		views = append(views, sourceViewOf(s))
	}
	return views
}

// listSources writes the sources of a set as a table below the contracts.
func listSources(w io.Writer, set *contract.Set) {
	if len(set.EventSources()) > 0 {
		fmt.Fprintln(w, "\t\t\t\t\nSOURCE\tSIGNED\tVERSION\tFILE\tDESCRIPTION")
	}
	for _, s := range set.EventSources() {
		i := s.Info()
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.Name, i.Scheme, i.Version, s.File(), i.Description)
	}
}

// showSource prints one document of kind Source.
func showSource(c *cobra.Command, s *contract.EventSource) error {
	v := sourceViewOf(s)
	v.Source = string(s.Info().Source)
	if wantsJSON(c) {
		return writeJSON(c, v)
	}
	w := c.OutOrStdout()
	for _, row := range [][2]string{
		{"name", v.Name}, {"about", v.Description}, {"version", v.Version}, {"file", fmt.Sprintf("%s:%d", v.File, v.Line)},
		{"business", orNobody(v.BusinessOwner)}, {"technical", orNobody(v.TechnicalOwner)}, {"tenant", v.Tenant}, {"path", "POST " + v.Path},
		{"signed", v.Scheme}, {"secrets", orNone(v.Secrets)}, {"window", v.Window}, {"retries", v.Retries}, {"tools", orNone(v.Tools)},
	} {
		printLine(w, row[0], row[1])
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.TrimRight(v.Source, "\n"))
	return err
}
