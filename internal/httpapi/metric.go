package httpapi

import (
	"net/http"

	"github.com/onceward/onceward"
)

var metricRoutes = []route{{
	Method: http.MethodGet, Path: "/metrics", Name: "getMetrics", handle: getMetrics, Action: onceward.ActionReadMetrics,
	Summary: "The metrics of this process as Prometheus text, for principals of the server's own tenant (docs/reference/metrics.md).",
	Answers: []answer{{http.StatusOK, rawText{}, "The metrics."}},
}}

// getMetrics is GET /metrics.
func getMetrics(c *call) error {
	if err := onceward.MayReadMetrics(c.who); err != nil {
		return err
	}
	if c.opts.Metrics == nil {
		return &onceward.Error{Code: onceward.CodeRouteNotFound, Message: "this server measures nothing"}
	}
	c.opts.Metrics.ServeHTTP(c.w, c.req)
	return nil
}
