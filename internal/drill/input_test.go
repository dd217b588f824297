package drill

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onceward/onceward/contract"
)

// surroundings is what the contracts of these tests find.
var surroundings = contract.Options{
	Env:      func(name string) (string, bool) { return "http://provider.invalid", name == "SIM_URL" },
	ByteTail: contract.NoByteTail,
}

func loadTool(tb testing.TB, text string) *contract.Tool {
	tb.Helper()
	tools, err := contract.Load([]byte(text), "c.yaml", surroundings)
	if err != nil {
		tb.Fatal(err)
	}
	return tools[0]
}

// simTool is a contract of examples/sim.
func simTool(tb testing.TB, name string) *contract.Tool {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "sim", name+".yaml"))
	if err != nil {
		tb.Fatal(err)
	}
	return loadTool(tb, string(text))
}

const inputHead = `apiVersion: onceward/v1
kind: Tool
metadata: {name: a.b, owner: o}
spec:
  effect: unsafe_write
  request: {method: POST, url: 'http://provider.invalid/x'}
`

func TestADrillVariesWhatTheContractLetsItVary(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec, input              string
		mark, material, reworded string // paths; "-": none
	}{
		"by names": {
			"  key: [input.kind, input.order_id]\n  volatile: [text]\n", `{"kind":"a","order_id":"1","text":"t","cents":5}`,
			"order_id", "cents", "text",
		},
		"nothing but the key": {"  key: [input.id]\n", `{"id":"1"}`, "id", "-", "-"},
		"a key that is a number": {
			"  key: [string(input.id)]\n  input: {properties: {id: {type: integer}}}\n", `{"id":7}`, "id", "-", "-",
		},
		"a key of a certain form": {
			"  key: [input.id]\n  input: {properties: {id: {type: string, pattern: '^T-[0-9]{4}$'}}}\n", `{"id":"T-1234"}`, "id", "-", "-",
		},
		"no recipient is made up": {
			"  key: [input.mail, input.case]\n", `{"mail":"ada@example.com","case":"1"}`, "case", "-", "-",
		},
		"a field that the input does not have": {
			"  key: [input.id]\n  input: {properties: {id: {type: string}, urgent: {type: boolean}}, additionalProperties: false}\n", `{"id":"1"}`,
			"id", "urgent", "-",
		},
		"deep inside": {
			"  key: [input.order.id]\n  volatile: ['lines[*].note']\n", `{"order":{"id":"1"},"lines":[{"note":"n","n":2}]}`,
			"order.id", "lines[0].n", "lines[0].note",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := newSubject(&Subject{Tool: loadTool(t, inputHead+c.spec), Input: []byte(c.input)}, Options{RunID: "r"})
			if err != nil {
				t.Fatal(err)
			}
			path := func(m *mutation) string {
				if m == nil {
					return "-"
				}
				return m.leaf.path
			}
			if s.mark.path != c.mark || path(s.material) != c.material || path(s.reworded) != c.reworded {
				t.Errorf("mark %s, material %s, reworded %s", s.mark.path, path(s.material), path(s.reworded))
			}
			a, err := s.marked("drill-r-1")
			if err != nil {
				t.Fatal(err)
			}
			b, err := s.marked("drill-r-2")
			if err != nil || string(a) == string(b) {
				t.Errorf("two scenarios have one input: %s, %v", a, err)
			}
			if s.mark.readable && !strings.Contains(string(a), "drill-r-1") {
				t.Errorf("the mark is not in %s", a)
			}
			if strings.Contains(c.input, "ada@example.com") && !strings.Contains(string(a), "ada@example.com") {
				t.Errorf("a recipient was made up: %s", a)
			}
		})
	}
}

func TestADrillIsRefusedWhereItWouldShowNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ spec, input, says string }{
		"a read":          {strings.Replace(inputHead, "unsafe_write", "read", 1) + "  key: [input.id]\n", `{"id":"1"}`, "writes nothing"},
		"a wrong input":   {inputHead + "  key: [input.id]\n", `{}`, "example input"},
		"a constant key":  {inputHead + "  key: [input.mail]\n", `{"mail":"ada@example.com"}`, "no field of the key"},
		"a caller's work": {strings.Split(inputHead, "  request")[0] + "  executor: caller\n  key: [input.id]\n", `{"id":"1"}`, "caller performs"},
	} {
		_, err := newSubject(&Subject{Tool: loadTool(t, c.spec), Input: []byte(c.input)}, Options{RunID: "r"})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
