package console

// Routes is the table of pages, for the tests that walk it.
func Routes() []route { return routes }

// ParsePages parses the template of every page, and counts them. It panics at
// one that is broken.
func ParsePages() (pages int) {
	views := templates(nil)
	for _, view := range views {
		view()
	}
	return len(views)
}
