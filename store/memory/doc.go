// Package memory keeps operations in this process: for tests, simulations and
// whoever wants to see the ledger work without a database. Nothing survives the
// process.
//
// It keeps rows in their stored form, by the same codec as the databases, so
// that nothing is shared with a caller and nothing passes here that a database
// would refuse. It must not know any rule of the business. Start reading at
// store.go.
package memory
