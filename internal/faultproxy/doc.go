// Package faultproxy is a TCP proxy that breaks connections on purpose: cut or
// reset after a counted byte, delay, swallow an answer, fall silent, partition
// the network and heal it.
//
// What it is for: tests and drills that put it between Onceward and a provider,
// a database or a broker. It works on bytes and knows no protocol. It is free
// of package testing, so that a program can carry it.
//
// Start reading at Fault (fault.go), then link.go, which is one connection.
package faultproxy
