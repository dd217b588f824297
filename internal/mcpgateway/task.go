package mcpgateway

import "strings"

// isTaskMethod reports whether a method is about tasks.
func isTaskMethod(method string) bool { return strings.HasPrefix(method, "tasks/") }
