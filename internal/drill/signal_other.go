//go:build !unix

package drill

import "os"

// A process cannot be stopped and continued here.
var standStill, goOn os.Signal
