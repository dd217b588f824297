// Package testledger gives tests PostgreSQL schemas that hold an empty ledger.
package testledger
