package simprovider

import (
	"net"
	"net/http"
	"strconv"
)

// delivery is one request on its way through its fault to its end.
type delivery struct {
	s     *Server
	w     http.ResponseWriter
	r     *http.Request
	req   request
	fault Fault
	hold  *hold
	said  string // how it ended, for the log
	ended bool
}

// execute carries the request out, or repeats what its key already decided.
func (d *delivery) execute() answer {
	if d.hold.settled != nil {
		return *d.hold.settled
	}
	return d.s.perform(d.req, d.hold, d.fault.Name)
}

// release gives the key back before an end without effect.
func (d *delivery) release() {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	d.s.releaseKey(d.hold, d.req.key)
}

func (d *delivery) answer(ans answer) {
	d.said = strconv.Itoa(ans.status)
	ans.send(d.w)
}

// end gives back what is left of the delivery and logs it, once.
func (d *delivery) end() {
	if d.ended {
		return
	}
	d.ended = true
	d.release() // a key that is still held had no effect
	d.s.log.line(d.s.clock.Now(), d.r, d.req, d.fault, d.said)
}

// drop breaks the connection without an answer: "reset" is a real RST, "fin"
// an orderly end.
func (d *delivery) drop(how, otherwise string) {
	if how == "" {
		how = otherwise
	}
	d.said = "dropped (" + how + ")"
	conn, _, err := http.NewResponseController(d.w).Hijack()
	if err != nil {
		// HTTP/2 and test recorders have no connection to give: abort the stream.
		d.release()
		panic(http.ErrAbortHandler)
	}
	if how == "reset" {
		conn = resetting(conn)
	}
	d.end()          // the client may go on as soon as it sees the end
	_ = conn.Close() // the connection is to be broken: nothing is left to report
}

// resetting returns the connection whose Close sends an RST. Below TLS that is
// the bare one, because closing TLS says goodbye first.
func resetting(conn net.Conn) net.Conn {
	if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = wrapped.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it the close is orderly, which is still a drop
	}
	return conn
}

// lateCommit is an effect that is still to come.
type lateCommit struct{ stop func() bool }

// commitLate drops the connection and leaves the effect to a timer. The key
// stays in flight until then.
func commitLate(d *delivery) {
	if d.hold.settled == nil && d.req.write {
		d.s.scheduleCommit(d.req, d.hold, d.fault)
		d.hold = &hold{} // the timer owns the key now
	}
	d.drop(d.fault.How, "fin")
}

func (s *Server) scheduleCommit(req request, h *hold, fault Fault) {
	if !s.enter() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closing: // Close may have passed its look at s.late already
		s.inside.Done()
		return
	default:
	}
	late := &lateCommit{}
	s.late[late] = struct{}{}
	s.books.row(req.subject).Pending++
	late.stop = s.clock.AfterFunc(fault.delay(delayDefault), func() {
		defer s.inside.Done()
		s.perform(req, h, fault.Name)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.books.row(req.subject).Pending--
		delete(s.late, late)
	})
}

// stopLateCommits keeps every effect that is still to come from coming. One
// whose timer has just fired happens, and Close waits for it.
func (s *Server) stopLateCommits() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for late := range s.late {
		if late.stop() {
			s.inside.Done()
		}
		delete(s.late, late)
	}
}
