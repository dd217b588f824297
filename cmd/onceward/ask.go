package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// ask sends a request, and prints the answer where JSON is wanted; done says so.
func ask(c *cobra.Command, method, path string, body, into any) (done bool, err error) {
	rep, err := asked(c, method, path, body, into)
	if err == nil && wantsJSON(c) {
		return true, printJSON(c.OutOrStdout(), rep.body)
	}
	return false, err
}

// asked sends a request and reads the answer.
func asked(c *cobra.Command, method, path string, body, into any) (*reply, error) {
	cl, err := newClient(c)
	if err != nil {
		return nil, err
	}
	rep, err := cl.do(c.Context(), method, path, body)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(rep.body, into); err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	return rep, nil
}

// newTable is a table with a line of headings, or none. Flush it.
func newTable(out io.Writer, headings ...string) *tabwriter.Writer {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	if len(headings) > 0 {
		fmt.Fprintln(w, strings.Join(headings, "\t"))
	}
	return w
}

// endPage ends the table of a page, and says how to get the next one.
func endPage(c *cobra.Command, w *tabwriter.Writer, next string) error {
	err := w.Flush()
	if err == nil && next != "" {
		fmt.Fprintf(c.OutOrStdout(), "more: --after %s\n", next)
	}
	return err
}
