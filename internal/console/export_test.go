package console

// Routes is the table of pages, for the tests that walk it.
func Routes() []route { return routes }
