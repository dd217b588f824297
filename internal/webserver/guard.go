package webserver

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/onceward/onceward"
)

// guard refuses requests that somebody else's web page makes: by a name that
// was rebound to this address (Host), or across origins (Origin, Sec-Fetch-Site).
//
// Why for every method: a loopback server knows nobody's credentials, so that
// whoever gets a request through acts with every right, and reading is worth
// as much as writing.
type guard struct {
	next     http.Handler
	refuse   func(http.ResponseWriter, *http.Request, error)
	port     string   // of the listener
	noPort   string   // what a Host header without a port means
	loopback bool     // the listener's names are those of loopback
	hosts    []string // further names, host or host:port, lower case
	origins  []string // further origins, scheme://host[:port], lower case

	headerBytesMax int // of the request line and the header fields
}

func (g *guard) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if headerBytes(req) > g.headerBytesMax {
		g.refuse(w, req, &onceward.Error{Code: onceward.CodeTooLarge, Message: fmt.Sprintf("the request's header is longer than %d bytes", g.headerBytesMax),
			Hint: "send less in header fields and in the address; the input belongs into the body"})
		return
	}
	if !g.knowsHost(req.Host) {
		g.refuse(w, req, &onceward.Error{Code: onceward.CodeOriginRefused, Message: "the Host header names a host that this server is not",
			Hint: "ask by the address that the server listens on, or configure the name"})
		return
	}
	if !g.sameOrigin(req) {
		g.refuse(w, req, &onceward.Error{Code: onceward.CodeOriginRefused, Message: "the request comes from a page of another origin",
			Hint: "ask from a program, or from a page that this server serves"})
		return
	}
	g.next.ServeHTTP(w, req)
}

// headerBytes is about how long a request was up to its body.
func headerBytes(req *http.Request) int {
	const separators = len(": \r\n")
	n := len(req.Method) + len(req.RequestURI) + len(req.Proto) + len(req.Host)
	for name, values := range req.Header {
		for _, v := range values {
			n += len(name) + len(v) + separators
		}
	}
	return n
}

// knowsHost reports whether a Host header names this server. A server that
// listens beyond loopback and was told no names takes any: its callers need
// credentials, which a rebound name does not have.
func (g *guard) knowsHost(hostport string) bool {
	if !g.loopback && len(g.hosts) == 0 {
		return true
	}
	hostport = strings.ToLower(hostport)
	host, port := g.splitHost(hostport)
	for _, h := range g.hosts {
		if h == hostport || h == host {
			return true
		}
	}
	return g.loopback && port == g.port && isLoopbackName(host)
}

// splitHost splits a Host header; the host loses the brackets of an IPv6 address.
func (g *guard) splitHost(hostport string) (host, port string) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]"), g.noPort
	}
	return host, port
}

// isLoopbackName takes localhost and literal loopback addresses: no name that
// somebody else's name server answers for.
func isLoopbackName(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// sameOrigin reports whether a request comes from no page, or from one that
// this server serves.
func (g *guard) sameOrigin(req *http.Request) bool {
	origins := req.Header["Origin"]
	if len(origins) > 1 {
		return false
	}
	if len(origins) == 1 && !g.knowsOrigin(origins[0], req.Host) {
		return false
	}
	switch site := req.Header.Get("Sec-Fetch-Site"); site {
	case "", "none", "same-origin":
		return true
	case "same-site", "cross-site": // "same-site" is any other port of localhost
		if len(origins) == 1 {
			return true // a known one, by the check above
		}
		return isLink(req)
	default:
		return false
	}
}

// isLink reports whether a browser opens the address as a page: its answer is
// shown to the person and readable by no script of the page with the link.
func isLink(req *http.Request) bool {
	return req.Method == http.MethodGet && req.Header.Get("Sec-Fetch-Mode") == "navigate" && req.Header.Get("Sec-Fetch-Dest") == "document"
}

func (g *guard) knowsOrigin(origin, host string) bool {
	origin = strings.ToLower(origin)
	for _, o := range g.origins {
		if o == origin {
			return true
		}
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	return u.Host == strings.ToLower(host)
}
