package webserver

import (
	"context"
	"net"

	"github.com/onceward/onceward"
)

// Listen listens on a TCP address, host:port. Unless requests are authenticated
// and what carries them is encrypted, only loopback addresses are taken, so that nobody else on the network is ever
// the implicit local principal. CodeConfigInvalid says what is wrong with the
// address; a name has to mean loopback by all that it resolves to.
func Listen(ctx context.Context, address string, authenticated bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "listen", Message: "the address " + address + " is not host:port", Hint: "write it as in 127.0.0.1:8686 or [::1]:8686", Err: err}
	}
	if !authenticated {
		if err := onlyLoopback(ctx, host); err != nil {
			return nil, err
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "listen", Message: "cannot listen on " + address, Hint: "give HOST:PORT with a port that no other program has", Err: err}
	}
	// A name can mean something else by now than when it was checked.
	if a, ok := l.Addr().(*net.TCPAddr); !authenticated && (!ok || !a.IP.IsLoopback()) {
		return nil, errNotLoopback(address, l.Close())
	}
	return l, nil
}

func onlyLoopback(ctx context.Context, host string) error {
	if host == "" {
		return errNotLoopback("every address of this machine", nil)
	}
	addrs, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil || len(addrs) == 0 {
		return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "listen", Message: "the host " + host + " cannot be resolved", Hint: "use 127.0.0.1", Err: err}
	}
	for _, a := range addrs {
		if !a.IP.IsLoopback() {
			return errNotLoopback(host, nil)
		}
	}
	return nil
}

func errNotLoopback(what string, cause error) error {
	return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "listen", Message: what + " is not a loopback address: beyond that, credentials are demanded, and TLS keeps them", Err: cause,
		Hint: "listen on 127.0.0.1; or give --auth required and --tls-cert with --tls-key, or --behind-tls-proxy where something else ends TLS"}
}
