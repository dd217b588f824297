// Package sealed is a store that encrypts the bodies of operations whose contract
// says so, and what callers hand over beside them, in front of any other store: what the database, its backups and its
// replicas hold of them is AES-256-GCM.
//
//	ledger -> committer -> sealed.Store -> sqlite, postgres or memory
//
// Each subject (whoever the contract names by keep.subject) has a data key. The
// database keeps it wrapped by a master key, which stands outside of the database
// in a [KeyRing]. Of each data key a key for each operation is derived, so that no
// nonce is drawn under one key more often than is safe. To shred a subject is to
// remove its wrapped data keys.
//
// Encrypted are: input, request, result, field prints, the messages of failures,
// the digests of inputs that were edited away, the reasons and evidence of the
// timeline, and what approvers were shown. The digest of the input is encrypted
// with a key of the tenant, so that a repeat is still told from another input once
// the subject is shredded. Key, state, reference, provider key, run, actor and
// times are stored as ever.
//
// Rows beside the operations are encrypted wherever there are master keys: runs,
// decisions, sagas, events, documents and early approvals, each in a file of its
// own; row.go has what they share.
//
// It must not know the rules of the business: who may shred, and when, stands in
// the root. Start reading at store.go.
package sealed
