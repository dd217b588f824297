package contract

import (
	"embed"

	"github.com/onceward/onceward"
)

//go:embed example/*.yaml
var examples embed.FS

// Example is a commented contract of an effect class to start from, as
// "onceward contract init" writes it. It loads as it stands once API_URL is set.
// It is nil for what is no effect class.
func Example(effect onceward.EffectClass) []byte {
	data, err := examples.ReadFile("example/" + effect.String() + ".yaml")
	if err != nil {
		return nil
	}
	return data
}
