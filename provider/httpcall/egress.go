package httpcall

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/onceward/onceward"
)

// allow looks the target up in a host list. An entry is a host, which then may
// be called at any port, or host:port. Nothing is on an empty list.
func (t *target) allow(hosts []string) *fault {
	for _, entry := range hosts {
		host, port := splitEntry(entry)
		if port != "" && port != t.origin.port {
			continue
		}
		if host != t.origin.host {
			normal, ok := normalHost(host)
			if !ok || normal != t.origin.host {
				continue
			}
		}
		_, err := netip.ParseAddr(t.origin.host)
		t.literal = err == nil || t.origin.host == "localhost"
		return nil
	}
	return newFault(onceward.ClassValidation, codeHost)
}

// splitEntry splits an entry of a host list; an address of version 6 may stand
// with or without brackets.
func splitEntry(entry string) (host, port string) {
	if strings.Count(entry, ":") > 1 && !strings.HasPrefix(entry, "[") {
		return entry, ""
	}
	if h, p, err := net.SplitHostPort(entry); err == nil {
		return h, p
	}
	return strings.Trim(entry, "[]"), ""
}

func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

func proxyPort(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// Addresses at which clouds hand out credentials to whoever asks from inside.
// Those in 169.254.0.0/16 are among the link-local ones.
var metadata = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("192.0.0.192"), netip.MustParseAddr("168.63.129.16"),
}

var (
	shared    = netip.MustParsePrefix("100.64.0.0/10") // CGNAT, RFC 6598
	thisNet   = netip.MustParsePrefix("0.0.0.0/8")
	reserved  = netip.MustParsePrefix("240.0.0.0/4") // and the broadcast address
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
	siteLocal = netip.MustParsePrefix("fec0::/10")
)

// checkAddress decides about a resolved address ("ip:port"), after resolution
// and before the connection is made.
func (c *Client) checkAddress(t *target, address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !mayCall(ap.Addr(), t.literal, c.options.RefusePrivateNames) {
		return newFault(onceward.ClassValidation, codeAddress)
	}
	return nil
}

// checkLiteral decides about a target behind a proxy, whose name the proxy
// resolves: only what is written as an address can be checked here.
func (c *Client) checkLiteral(t *target) error {
	ip, err := netip.ParseAddr(t.origin.host)
	if err != nil || mayCall(ip, t.literal, c.options.RefusePrivateNames) {
		return nil
	}
	return newFault(onceward.ClassValidation, codeAddress)
}

// mayCall is the rule. literal: the address itself, or localhost, is listed.
func mayCall(ip netip.Addr, literal, refusePrivateNames bool) bool {
	ip = carried(ip.WithZone(""))
	for _, m := range metadata {
		if ip == m {
			return false
		}
	}
	switch {
	case ip.IsUnspecified(), ip.IsMulticast(), thisNet.Contains(ip), reserved.Contains(ip):
		return false
	case literal:
		return true
	case ip.IsLinkLocalUnicast():
		return false
	case ip.IsPrivate(), ip.IsLoopback(), shared.Contains(ip), siteLocal.Contains(ip):
		return !refusePrivateNames
	}
	return true
}

// carried returns the address of version 4 that one of version 6 stands for.
func carried(ip netip.Addr) netip.Addr {
	ip = ip.Unmap()
	b := ip.As16()
	switch {
	case nat64.Contains(ip):
		return netip.AddrFrom4([4]byte(b[12:16]))
	case sixToFour.Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return ip
}
