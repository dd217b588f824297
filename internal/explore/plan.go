package explore

import "github.com/onceward/onceward"

// basis is a contract of few ticks under which every comparison is seen from
// both sides, with processes that die, answers that get lost and people who
// cancel and resolve.
func basis(name string, effect onceward.EffectClass, workers int) Config {
	return Config{
		Name: name, Effect: effect, Workers: workers, Probe: effect == onceward.EffectProbedWrite,
		Lease: 2, Deadline: 1, Settle: 2, KeyWindow: 5, Recovery: 4, BackoffMax: 2, Attempts: 2,
		Crashes: true, Cancel: true, Resolve: true,
	}
}

func (c Config) with(change func(*Config)) Config {
	change(&c)
	return c
}

// Plan lists what is explored when nothing is said: every class, with one worker
// to three, and the things that people and contracts add in groups, because all
// of them at once are more states than a machine can hold.
func Plan() []Config {
	var all []Config
	for _, effect := range onceward.AllEffectClasses {
		name := effect.String()
		all = append(all, basis(name+", two workers", effect, 2))
		if effect == onceward.EffectCompute {
			continue // as read
		}
		all = append(all,
			basis(name+", one worker", effect, 1),
			basis(name+", three workers", effect, 3).with(func(c *Config) { c.Cancel, c.Resolve = false, false }),
			basis(name+", people", effect, 1).with(withPeople),
			basis(name+", rules", effect, 1).with(withRules),
			basis(name+", records", effect, 1).with(withRecords),
		)
		if effect.Writes() {
			all = append(all, basis(name+", nothing assumed", effect, 2).with(withoutAssumptions))
		}
	}
	return append(all, special()...)
}

// withPeople adds everything that people and the provider may say.
func withPeople(c *Config) {
	c.Callbacks, c.Resolves, c.Replays, c.Requests, c.CutAnswer, c.Undo = true, 1, 1, 1, true, true
	c.Conflicts = c.Effect == onceward.EffectKeyedWrite
}

// withRules adds what may forbid a start or a send.
func withRules(c *Config) {
	c.Approval, c.NotAfter, c.Pauses, c.Refusals = 2, 3, 1, 1
}

// withRecords adds retention and the next generation of a key.
func withRecords(c *Config) {
	c.Retire, c.Reusable, c.Undo, c.Replays, c.Requests, c.Attempts = true, true, true, 1, 1, 1
	c.Callbacks = true
}

// withoutAssumptions breaks all that the guarantees stand on at once: what is
// left are the rules that hold whatever the world does.
func withoutAssumptions(c *Config) {
	c.LateCommits, c.ForgetsKeys, c.BlindLooks, c.HastyPeople, c.FrozenSends, c.Unpromised = true, true, true, true, true, true
	c.Callbacks, c.Undo, c.Replays, c.Attempts = true, true, 1, 1
}

// special are contracts that a class may have besides.
func special() []Config {
	keyed, unsafe, probed := onceward.EffectKeyedWrite, onceward.EffectUnsafeWrite, onceward.EffectProbedWrite
	return []Config{
		basis("keyed_write, looked up past its window", keyed, 2).with(func(c *Config) { c.Probe = true }),
		basis("keyed_write, key kept for ever", keyed, 2).with(func(c *Config) { c.KeyWindow = 0 }),
		basis("keyed_write, lease longer than the margin", keyed, 2).with(func(c *Config) { c.Lease = 4 }),
		basis("keyed_write, performed by its caller", keyed, 1).with(func(c *Config) { c.Remote, c.Attempts, c.Cancel, c.Resolve = true, 3, false, false }),
		basis("probed_write, performed by its caller", probed, 1).with(func(c *Config) { c.Remote = true }),
		basis("probed_write, two workers and a replay", probed, 2).with(func(c *Config) { c.Attempts, c.Replays, c.Cancel, c.Callbacks = 1, 1, false, true }),
		basis("probed_write, abandoned when unknown", probed, 1).with(func(c *Config) { c.Abandon, c.Callbacks = true, true }),
		basis("conditional_write, looked up", onceward.EffectConditionalWrite, 1).with(func(c *Config) { c.Probe = true }),
		basis("unsafe_write, two approvers and an edit", unsafe, 1).with(func(c *Config) { c.Approval, c.Quorum, c.Edits, c.Attempts, c.Resolve = 2, 2, true, 1, false }),
		basis("unsafe_write, abandoned when unknown", unsafe, 2).with(func(c *Config) { c.Abandon = true }),
	}
}
