package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker for releases.
var version = ""

func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if wantsJSON(c) {
				return json.NewEncoder(c.OutOrStdout()).Encode(map[string]string{"version": versionText(), "go": runtime.Version()})
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "onceward %s (%s)\n", versionText(), runtime.Version())
			return err
		},
	}
}
