package httpcall

import (
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalHost returns the one spelling of a host under which lists and URLs are
// compared and names are resolved: lower case, no trailing dot, addresses in
// their short form, other scripts as RFC 3492 labels. False: not a host.
func normalHost(host string) (string, bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Is4() {
			return host, true // version 4 has one spelling
		}
		return a.Unmap().String(), a.Zone() == ""
	}
	if plainHost(host) {
		return host, true
	}
	if !isASCII(host) {
		var ok bool
		if host, ok = asciiHost(host); !ok {
			return "", false
		}
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if a, err := netip.ParseAddr(host); err == nil { // full-width digits
		return a.Unmap().String(), a.Zone() == ""
	}
	return host, plainHost(host)
}

// plainHost reports whether host is already in its normal form: lower-case
// labels of letters, digits, hyphens and underscores.
func plainHost(host string) bool {
	if host == "" || len(host) > 253 {
		return false
	}
	label := 0
	for i := range len(host) {
		c := host[i]
		switch {
		case c == '.':
			if label == 0 {
				return false
			}
			label = 0
			continue
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
			label++
		default:
			return false
		}
		if label > 63 {
			return false
		}
	}
	return label > 0
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// asciiHost writes every label with other letters as xn--…. The mapping is
// compatibility composition and lower case, which is what names in use need;
// a name that it maps otherwise than a registry would is not found, never
// confused, because list and URL go through the same mapping.
func asciiHost(host string) (string, bool) {
	mapped := norm.NFKC.String(strings.ToLower(norm.NFKC.String(host)))
	mapped = strings.NewReplacer("\u3002", ".", "\uff61", ".").Replace(mapped)
	labels := strings.Split(mapped, ".")
	for i, label := range labels {
		if isASCII(label) {
			continue
		}
		for _, r := range label {
			if !unicode.In(r, unicode.L, unicode.M, unicode.Nd) && r != '-' {
				return "", false
			}
		}
		encoded, ok := punycode([]rune(label))
		if !ok {
			return "", false
		}
		labels[i] = "xn--" + encoded
	}
	return strings.Join(labels, "."), true
}

// Parameters of Punycode, RFC 3492 section 5.
const (
	punyBase, punyMin, punyMax     = 36, 1, 26
	punySkew, punyDamp             = 38, 700
	punyBias, punyFirst            = 72, 128
	punyDigits                     = "abcdefghijklmnopqrstuvwxyz0123456789"
	punyLimit                  int = 1 << 28
)

// punycode encodes one label, RFC 3492 section 6.3.
func punycode(label []rune) (string, bool) {
	var out []byte
	for _, r := range label {
		if r < utf8.RuneSelf {
			out = append(out, byte(r))
		}
	}
	basic := len(out)
	if basic > 0 {
		out = append(out, '-')
	}
	next, delta, bias := rune(punyFirst), 0, punyBias
	for done := basic; done < len(label); {
		smallest := rune(unicode.MaxRune)
		for _, r := range label {
			if r >= next && r < smallest {
				smallest = r
			}
		}
		delta += int(smallest-next) * (done + 1)
		if delta > punyLimit {
			return "", false
		}
		next = smallest
		for _, r := range label {
			if r < next {
				delta++
			}
			if r == next {
				out = punyInteger(out, delta, bias)
				bias = punyAdapt(delta, done+1, done == basic)
				delta = 0
				done++
			}
		}
		delta++
		next++
	}
	return string(out), true
}

func punyInteger(out []byte, q, bias int) []byte {
	for k := punyBase; ; k += punyBase {
		t := min(max(k-bias, punyMin), punyMax)
		if q < t {
			return append(out, punyDigits[q])
		}
		out = append(out, punyDigits[t+(q-t)%(punyBase-t)])
		q = (q - t) / (punyBase - t)
	}
}

func punyAdapt(delta, points int, first bool) int {
	if first {
		delta /= punyDamp
	} else {
		delta /= 2
	}
	delta += delta / points
	k := 0
	for ; delta > (punyBase-punyMin)*punyMax/2; k += punyBase {
		delta /= punyBase - punyMin
	}
	return k + (punyBase-punyMin+1)*delta/(delta+punySkew)
}
