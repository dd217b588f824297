package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/httpapi"
	"github.com/onceward/onceward/internal/webserver"
)

// metricsStopWait bounds how long a scrape that is under way holds up the end.
const metricsStopWait = time.Second

// serveMetrics serves /metrics on an address of its own, without credentials:
// whoever can reach the address reads counts by tool. No address: nothing.
func serveMetrics(ctx context.Context, address string, metrics http.Handler, log *slog.Logger) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	l, err := webserver.Listen(ctx, address, true)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		httpapi.WriteProblem(w, req, &onceward.Error{Code: onceward.CodeRouteNotFound, Message: "no such path", Hint: "GET /metrics is all there is here"})
	})
	srv, err := webserver.New(webserver.Options{Handler: mux, Listener: l, Log: log, Refuse: httpapi.WriteProblem})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(); err != nil {
			log.Error("metrics are not served any more", "error", err)
		}
	}()
	log.Info("serving metrics", "address", "http://"+l.Addr().String()+"/metrics")
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), metricsStopWait)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			log.Warn("a scrape was cut off", "error", err)
		}
		<-done
	}, nil
}
