package onceward

// SettingAdvice is what a store says of one of its own settings, for doctor.
type SettingAdvice struct {
	Setting string // its name in the database: "synchronous_commit"
	Bad     bool   // the guarantee does not hold with it
	Warn    bool   // it holds, but something is worth changing
	Detail  string // how it is set, and what that means
	Fix     string // what to do; empty when it is right
}

// Status is ok, warning or error.
func (a SettingAdvice) Status() string {
	switch {
	case a.Bad:
		return "error"
	case a.Warn:
		return "warning"
	}
	return "ok"
}
