// Package linear judges what clients of a claim path saw: whether one register
// per key, changed at one instant within each request, can have shown them all
// of it (linearizability, checked by Porcupine).
//
// It must not know Onceward: the register is written from the words of
// docs/guarantees.md, so that it does not repeat a mistake of the machine. It is
// for tests.
//
// Start reading at register.go: what a key may look like, and to whom. Then
// history.go: how requests are noted while they run, answers that never came
// above all.
package linear
