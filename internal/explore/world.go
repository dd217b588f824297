package explore

import "github.com/onceward/onceward"

// world is what is true outside of the ledger: what became of each write, and
// how much of the bounded trouble is still to come. It knows nothing of the
// machine.
type world struct {
	wires   [maxTries]wire
	effects [maxTries + 1]effect // by number; 0 is not used
	count   uint8                // effects of this generation

	keyKnown  bool // the provider remembers the key
	keyEffect uint8
	keyAge    ticks

	paused   bool
	released bool // the due row was given a time of now by a resume
	together bool // the first attempt was claimed together with its operation

	pauses, refusals, resolves, replays, requests, voids uint8 // how often yet
}

// wire is what became of the bytes of one attempt.
type wire struct {
	phase  phase
	effect uint8 // that it made or met
	left   ticks // how long its bytes may still travel
}

type phase uint8

const (
	unsent     phase = iota
	travelling       // may arrive while left is not negative
	arrived          // the provider took it: its effect is decided
	dead             // it never arrives, or was refused
)

// effect is one object at the provider.
type effect struct {
	visible bool  // a look-up sees it
	left    ticks // how long it may stay unseen
}

// mayStillHappen reports whether an attempt can still make an effect that is
// not there yet.
func (w *world) mayStillHappen() bool {
	for i := range w.wires {
		if w.wires[i].phase == travelling {
			return true
		}
	}
	return false
}

// visible is the set of effects that a look-up sees now.
func (w *world) visible() uint8 {
	set := uint8(0)
	for e := uint8(1); e <= w.count; e++ {
		if w.effects[e].visible {
			set |= 1 << e
		}
	}
	return set
}

// older lets one tick pass. What had to happen until now has to have happened:
// bytes that did not arrive never will; a look-up sees what settle promised.
func (w *world) older(c *Config) {
	for i := range w.wires {
		wire := &w.wires[i]
		if wire.phase != travelling {
			continue
		}
		if wire.left--; wire.left < 0 {
			wire.phase, wire.left = dead, 0
		}
	}
	for e := uint8(1); e <= w.count; e++ {
		effect := &w.effects[e]
		if effect.visible || c.LateCommits && effect.left == 0 {
			continue
		}
		if effect.left--; effect.left < 0 {
			effect.visible, effect.left = true, 0
		}
	}
	if w.keyKnown && w.keyAge < ticks(c.KeyWindow) {
		w.keyAge++
	}
}

// arrive lets the provider take the write of an attempt. Under a key that it
// remembers, or an ID that is taken, it meets the effect that is there.
func (w *world) arrive(c *Config, n uint8) {
	wire := &w.wires[n-1]
	left := wire.left
	wire.phase, wire.left = arrived, 0
	if !c.Effect.Writes() {
		return
	}
	switch {
	case c.Effect == onceward.EffectConditionalWrite && w.count > 0:
		wire.effect = 1
		return
	case c.Effect == onceward.EffectKeyedWrite && w.keyKnown && w.keyEffect > 0:
		wire.effect = w.keyEffect
		return
	}
	w.count++
	wire.effect = w.count
	w.effects[w.count] = effect{left: left + ticks(c.Settle)}
	if c.Effect == onceward.EffectKeyedWrite {
		w.keyEffect = w.count
		w.sawKey()
	}
}

// sawKey notes the first sight of the key.
func (w *world) sawKey() {
	if !w.keyKnown {
		w.keyKnown, w.keyAge = true, 0
	}
}

// refuse lets the provider refuse the write of an attempt for good.
func (w *world) refuse(c *Config, n uint8) {
	w.wires[n-1].phase, w.wires[n-1].left = dead, 0
	if c.Effect == onceward.EffectKeyedWrite {
		w.sawKey()
	}
}

// hangUp closes the connection of an attempt: its bytes travel no longer than now,
// and what it did appears within settle from now.
func (w *world) hangUp(c *Config, n uint8) {
	wire := &w.wires[n-1]
	wire.left = 0
	if e := &w.effects[wire.effect]; wire.phase == arrived && wire.effect > 0 && !e.visible {
		e.left = min(e.left, ticks(c.Settle))
	}
}

// forget lets the provider forget the key.
func (w *world) forget() { w.keyKnown, w.keyEffect, w.keyAge = false, 0, 0 }

// proc is what one worker is doing. Workers are alike; their order is not kept.
type proc struct {
	doing      doing
	generation uint8
	attempt    uint8
	answer     answer
	effects    uint8 // seen by a look-up, or the effect that an answer names
	at         ticks // when the answer came, or the look-up began
}

type doing uint8

const (
	idle     doing = iota
	claimed        // holds an attempt of which nothing is sent
	sent           // waits for the answer
	answered       // has something to record
	looked         // has a look-up's answer to record
)

// answer is what a worker knows at the end of an attempt.
type answer uint8

const (
	noAnswer    answer = iota
	saysDone           // done, with or without a reference
	saysRefused        // not done, and the same write will not do better
	saysLater          // not done, may do better later
	saysAuth           // not done, the credential is refused
	saysLost           // unknown: no answer, 5xx, in progress under the key
	saysClash          // unknown, and no use to repeat: "same key, other parameters"
	notSent            // nothing left, by the holder's own record
	stopped            // stopped by our own fence before its first byte
)

// older lets one tick pass for a worker. A look-up that is too old is lost.
func (p *proc) older(b *bounds) {
	switch p.doing {
	case answered:
		if b.looks && (p.answer == saysLost || p.answer == saysClash) { // when anything else was known does not matter
			p.at = p.at.older(b.lastByte)
		}
	case looked:
		if p.at = p.at - 1; p.at < -lookAge {
			*p = proc{}
		}
	case idle, claimed, sent:
	}
}
