// Package faultproxy is a TCP proxy that breaks connections on purpose: cut or
// reset after a counted byte, delay, swallow an answer, fall silent, partition
// the network and heal it.
//
// What it is for: tests and drills that put it between Onceward and a provider,
// a database or a broker. It is free of package testing, so that a program can
// carry it.
//
// Proxy works on bytes and knows no protocol; start reading at Fault (fault.go),
// then link.go, which is one connection. HTTP (http.go) stands before a server
// that is reached by https, or wherever a fault is one of HTTP: another status,
// an answer that is held back, a request that arrives late.
package faultproxy
