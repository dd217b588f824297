//go:build thirdparty

package console_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/onceward/onceward"
)

// axeFile is where make console puts axe-core.
const axeFile = "../../tools/axe/node_modules/axe-core/axe.min.js"

// axeFinding is what axe has against a page.
type axeFinding struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

const axeRun = `axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then(r => JSON.stringify(r.violations))`

// TestAxeHasNothingAgainstAnyPage opens every page in light, dark and on a phone.
func TestAxeHasNothingAgainstAnyPage(t *testing.T) {
	t.Parallel()
	startChromium(t)
	source, err := os.ReadFile(axeFile)
	if err != nil {
		t.Fatalf("axe-core is missing (make console installs it): %v", err)
	}
	w := newWorld(t)
	pages := w.troubled()
	for kind, edits := range map[string][]chromedp.Action[chromedp.Void]{"light": nil, "dark": {dark()}, "phone": {phone()}} {
		b := w.open(t, edits...)
		b.at("/signin").accessible(t, kind+", signing in", string(source))
		b.signedIn("viewer-"+kind, onceward.AllRoles...)
		for name, target := range pages {
			b.at(target)
			eval[bool](b, `document.querySelectorAll('details').forEach(d => { d.removeAttribute('name'); d.open = true }) || true`)
			b.accessible(t, kind+", "+name, string(source))
		}
	}
}

func (b *tab) accessible(t *testing.T, page, axe string) {
	t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	waits := func(p *runtime.EvaluateParams) { p.AwaitPromise = new(true) }
	if err := chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](axe)); err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](axeRun, waits))
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	var found []axeFinding
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		for i, n := range f.Nodes {
			if i < 3 {
				t.Errorf("%s: %s (%s)\n%s\n%s", page, f.Help, f.ID, n.HTML, n.Summary)
			}
		}
	}
}
