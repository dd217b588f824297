package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// exitsWith runs a command that has to end with an exit code.
func exitsWith(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		code = failed.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v: %v", args[1:], err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("%v exits with %d, want %s", args[1:], code, args[0])
	}
}

// startStranger starts a server that is not onceward and sets STRANGER to its address.
func startStranger(ts *testscript.TestScript, _ bool, args []string) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch args[0] {
		case "redirect":
			http.Redirect(w, req, args[1], http.StatusTemporaryRedirect)
		case "html":
			_, _ = io.WriteString(w, "<!doctype html><title>Welcome</title>")
		case "empty":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{}")
		case "endless":
			w.Header().Set("Content-Type", "application/json")
			for line := bytes.Repeat([]byte(" "), 1<<20); req.Context().Err() == nil; {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		}
	}))
	ts.Defer(srv.Close)
	ts.Setenv("STRANGER", srv.URL)
}
