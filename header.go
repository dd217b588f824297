package onceward

import "strings"

// notReplayed are answer headers that describe one delivery, hand out
// credentials, or bind the client that gets them to a host: none of it is true
// of a later delivery. Lower case.
//
// Why the lengths and encodings are among them: what is stored is the decoded
// body, and whoever sends it again measures it anew.
var notReplayed = map[string]bool{
	// credentials and challenges
	"set-cookie": true, "set-cookie2": true, "authorization": true, "www-authenticate": true, "authentication-info": true,
	"authentication-control": true,
	// one delivery
	"date": true, "age": true, "via": true, "server": true, "content-length": true, "content-encoding": true,
	"connection": true, "keep-alive": true, "te": true, "trailer": true, "transfer-encoding": true, "upgrade": true,
	// what the sender's host asks of its client
	"alt-svc": true, "strict-transport-security": true, "clear-site-data": true, "nel": true, "report-to": true, "reporting-endpoints": true,
}

// ReplayableHeader returns the fields of an answer that are stored and sent
// again with a replayed result: Location, ETag, Content-Type and the like.
// Cookies, credentials, Date, hop-by-hop fields (the ones that Connection names
// included) and those that describe the first body's coding are left out.
// Repeated fields stay a list in their order. The argument is not changed; the
// result shares nothing but strings with it, and is nil where nothing is left.
func ReplayableHeader(header []HeaderField) []HeaderField {
	kept := 0
	hop := ""
	for i := range header {
		if strings.EqualFold(header[i].Name, "Connection") {
			hop += "," + header[i].Value
		}
		if replayable(header[i].Name) {
			kept++
		}
	}
	if kept == 0 {
		return nil
	}
	out := make([]HeaderField, 0, kept)
	for i := range header {
		if replayable(header[i].Name) && (hop == "" || !namedIn(hop, header[i].Name)) {
			out = append(out, header[i])
		}
	}
	return out
}

func replayable(name string) bool {
	low := strings.ToLower(name)
	return !notReplayed[low] && !strings.HasPrefix(low, "proxy-") && !strings.HasPrefix(low, functionFields)
}

// namedIn reports whether a comma-separated list of names has name in it.
func namedIn(list, name string) bool {
	for part := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.TrimSpace(part), name) {
			return true
		}
	}
	return false
}
