// Package console is the web console: pages made on the server, on which people
// look, decide and settle.
//
// It must hold no rule of the business and no right: a handler reads a form,
// calls one use case of [onceward.Ledger], and shows what it got. Who asks is
// told by whoever serves it. Everything that it shows from elsewhere (inputs,
// answers of providers, reasons) is hostile: it is escaped, and what a reader
// would not see is written out.
//
// Start reading at routes.go, the table of pages; then page.go (the life of one
// request). english.txt has every sentence, pages/ the templates, static/ the one
// stylesheet and the one script.
package console
