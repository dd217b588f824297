package contract

import (
	"embed"

	"github.com/onceward/onceward"
)

//go:embed example/*.yaml
var examples embed.FS

// ExampleSource is a commented document of kind Source to start from. It loads as
// it stands once the secret HOOK_SECRET is set.
func ExampleSource() []byte {
	data, err := examples.ReadFile("example/source.yaml")
	if err != nil {
		return nil
	}
	return data
}

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
