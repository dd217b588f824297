package explore

import (
	"fmt"
	"strings"
)

// action is something that can happen: who does what.
type action struct {
	kind    actionKind
	proc    uint8  // the worker's place, where it matters
	n       uint8  // attempt or effect
	variant answer // which of several ways
	fair    bool   // happens sooner or later once nobody makes trouble
}

type actionKind uint8

const (
	nothing actionKind = iota
	tick
	claims
	start
	resend
	expire
	lapse
	escalate
	tooOld
	approvalExpires
	look
	lookInconclusive
	prolong
	sendNow
	sendFails
	answerComes
	record
	crash
	arrives
	appears
	forgets
	calls
	cancels
	pauses
	resumes
	approves
	rejects
	voids
	edits
	asksAnew
	resolvesDone
	resolvesNot
	resolvesRetry
	abandons
	replays
	replaysConfirmed
	requests
	undoes
	retires
	takesAnew
	takerSteps // of two operations on one resource
	opMoves
)

var actionWords = [...]string{
	nothing: "-", tick: "a tick passes", claims: "the intent is stored and waits", start: "a worker starts an attempt", resend: "a worker sends again, with an attempt open",
	expire: "a worker ends the lease of attempt %d", lapse: "a worker gives a re-send up", escalate: "a worker escalates",
	tooOld: "a worker finds not_after passed", approvalExpires: "a worker finds the approval expired", look: "a worker looks the effect up",
	lookInconclusive: "a worker's look-up cannot tell", prolong: "the holder of attempt %d prolongs its lease", sendNow: "the holder of attempt %d sends",
	sendFails: "the holder of attempt %d cannot connect", answerComes: "the holder of attempt %d gets an answer", record: "a worker records",
	crash: "a process dies", arrives: "the write of attempt %d arrives at the provider", appears: "effect %d appears",
	forgets: "the provider forgets the key", calls: "the provider tells of effect %d by itself", cancels: "somebody cancels", pauses: "a person pauses the tool",
	resumes: "a person resumes the tool", approves: "an approver says yes", rejects: "an approver says no", voids: "the approval is voided",
	edits: "an approver edits the input and says yes", asksAnew: "a new request asks anew",
	resolvesDone: "a person resolves: it happened, effect %d", resolvesNot: "a person resolves: not performed", resolvesRetry: "a person resolves: not performed, retry",
	abandons: "a person abandons", replays: "a person replays", replaysConfirmed: "a person replays and accepts a second effect",
	requests: "a new request buys an attempt", undoes: "the effect is undone by a compensation", retires: "the record is retired", takesAnew: "the key is taken anew", takerSteps: "-", opMoves: "-",
}

var answerWords = [...]string{
	noAnswer: "nothing", saysDone: "done", saysRefused: "not done", saysLater: "not done, later perhaps", saysAuth: "credential refused",
	saysLost: "unknown: no answer or 5xx", saysClash: "unknown: same key, other parameters", notSent: "nothing was sent", stopped: "stopped before its first byte",
}

// words tell the action, taken in a state.
func (a action) words(s *state) string {
	w := actionWords[a.kind]
	if strings.Contains(w, "%d") {
		w = fmt.Sprintf(w, a.n)
	}
	switch p := s.procs[a.proc]; {
	case a.kind == answerComes:
		return w + ": " + answerWords[a.variant]
	case a.kind == record:
		return w + " " + p.recordWords()
	case a.kind == crash:
		return w + " while it " + doingWords[p.doing]
	}
	return w
}

var doingWords = [...]string{idle: "is idle", claimed: "holds an attempt", sent: "waits for the answer", answered: "has an answer to record", looked: "has a look-up to record"}

// recordWords tell what a worker has to record.
func (p proc) recordWords() string {
	if p.doing == answered {
		return fmt.Sprintf("attempt %d: %s", p.attempt, answerWords[p.answer])
	}
	ago := ""
	if p.at < 0 {
		ago = fmt.Sprintf(" that began %d ticks ago", p.at.age())
	}
	switch {
	case p.answer == saysLost:
		return "an inconclusive look-up" + ago
	case p.effects == 0:
		return "a look-up that saw nothing" + ago
	}
	return "a look-up that saw " + effectSet(p.effects) + ago
}

// effectSet names a set of effects.
func effectSet(set uint8) string {
	var names []string
	for e := range effectNames {
		if set&(1<<e) != 0 {
			names = append(names, effectNames[e])
		}
	}
	return strings.Join(names, ", ")
}
