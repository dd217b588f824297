package store

import "github.com/onceward/onceward"

// Collision is what a change is refused with when the row under its ID belongs
// to another intention.
func Collision(id onceward.OperationID) error {
	return &onceward.Error{
		Code: onceward.CodeKeyCollision, Op: "store operation", OperationID: id,
		Message: "another tenant, tool or key has the same operation ID",
		Hint:    "use another key for this intention",
	}
}

// Canceled says that the caller stopped waiting before anything was written;
// cause is the context's error.
func Canceled(op string, cause error) error {
	return &onceward.Error{Code: onceward.CodeCanceled, Op: op, Err: cause}
}

// Closed says that the handle was closed.
func Closed(op string) error {
	return &onceward.Error{Code: onceward.CodeLedgerUnavailable, Op: op, Message: "the ledger is closed"}
}

// Superseded refuses a contract version that a newer one replaced.
func Superseded(c *onceward.ContractVersion) error {
	return &onceward.Error{
		Code: onceward.CodeContractSuperseded, Op: "activate contract",
		Message: "the ledger holds a newer version of " + string(c.Tool) + " than " + c.Version,
		Hint:    "load the newer contract; to put this version in force again on purpose, start with onceward serve --reactivate",
	}
}

// Outrun refuses a contract version that was compared with one that is not in
// force any more.
func Outrun(c *onceward.ContractVersion, inForce string) error {
	return &onceward.Error{
		Code: onceward.CodeWriteConflict, Op: "activate contract",
		Message: "version " + c.Version + " of " + string(c.Tool) + " was compared with " + *c.Replaces + ", and " + inForce + " came in force meanwhile",
		Hint:    "load the contracts again",
	}
}

// NoContract says that a contract version is not stored.
func NoContract(tool onceward.ToolName, version string) error {
	return &onceward.Error{
		Code: onceward.CodeToolNotFound, Op: "load contract",
		Message: "version " + version + " of " + string(tool) + " is not in the ledger",
	}
}
