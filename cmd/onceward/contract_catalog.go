package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward/catalog"
)

// initFrom prints a contract of the catalog and what undoes its effect.
func initFrom(c *cobra.Command, name string) error {
	source, err := catalog.WithUndo(name)
	if err != nil {
		return err
	}
	_, err = c.OutOrStdout().Write(source)
	return err
}

// catalogView is a contract of the catalog as JSON shows it.
type catalogView struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`
	Endpoint string `json:"endpoint"`
	Effect   string `json:"effect"`
	Date     string `json:"date"` // of its newest source
	Unknown  string `json:"unknown"`
}

func listCatalog(c *cobra.Command) error {
	entries, err := catalog.Load()
	if err != nil {
		return err
	}
	list := make([]catalogView, 0, len(entries))
	for _, e := range entries {
		facts, _ := e.Tool.Facts()
		v := catalogView{Name: e.Name, Provider: facts.Provider, Endpoint: facts.Endpoint, Effect: e.Tool.Info().Policy.Effect.String(), Unknown: facts.Unknown}
		for _, s := range facts.Sources {
			v.Date = max(v.Date, s.Date)
		}
		list = append(list, v)
	}
	if wantsJSON(c) {
		return writeJSON(c, map[string]any{"catalog": list})
	}
	w := newTable(c.OutOrStdout(), "CONTRACT", "EFFECT", "FACTS OF", "ENDPOINT")
	for _, v := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s: %s\n", v.Name, v.Effect, v.Date, v.Provider, v.Endpoint)
	}
	return w.Flush()
}
