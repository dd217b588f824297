package console_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/onceward/onceward"
)

// pictures is where TestPictures writes every page; make screenshots sets it.
var pictures = flag.String("pictures", "", "folder for pictures of every page; empty: they are only looked at for what is cut off")

// pagesOf are the addresses of every page that a story has.
func (s *story) pages() map[string]string {
	return map[string]string{
		"overview": "/", "overview-week": "/?span=week", "operations": "/operations", "search": "/operations?tool=tickets.create&state=outcome_unknown&state=failed",
		"operation": "/operations/" + s.approved.String(), "operation-unknown": "/operations/" + s.unknown.String(), "operation-review": "/operations/" + s.review.String(),
		"approvals": "/approvals", "approval": "/approvals/" + s.approval.String(), "approval-answered": "/approvals/" + s.approved.String(),
		"reviews": "/reviews", "review": "/reviews/" + s.review.String(), "plan": "/operations/" + s.review.String() + "/replay",
		"operation-undone": "/operations/" + s.undone.String(), "operation-fork": "/operations/" + s.fork.String(),
		"runs": "/runs", "run": "/runs/" + s.run.String(), "run-saga": "/runs/" + s.order.String(), "replays": "/replays", "replay": "/replays/" + s.replay.String(),
		"tools": "/tools", "tool": "/tools/" + string(fax), "audit": "/audit", "reports": "/reports?from=2026-01-02T00:00&to=2026-01-04T00:00", "access": "/access",
		"outbox": "/outbox", "error": "/operations/op_nothing",
	}
}

// troubled is a story in which, besides, a saga waits for a person and events were
// not taken.
func (w *world) troubled() (pages map[string]string) {
	w.Helper()
	s := w.story()
	w.refusedEvents(onceward.DefaultTenant, "e/1", "e/2")
	pages = s.pages()
	pages["run-saga-waits"] = "/runs/" + w.aStuckOrder("order-79").String()
	return pages
}

func TestNoPageIsWiderThanItsWindow(t *testing.T) {
	t.Parallel()
	startChromium(t)
	w := newWorld(t)
	pages := w.troubled()
	kinds := map[string][]chromedp.Action[chromedp.Void]{"light": nil, "phone": {phone()}}
	if *pictures != "" {
		kinds["dark"] = []chromedp.Action[chromedp.Void]{dark()}
	}
	for kind, edits := range kinds {
		b := w.open(t, edits...)
		b.at("/signin")
		if *pictures != "" {
			b.picture(filepath.Join(*pictures, kind, "signin.png"))
		}
		b.signedIn("viewer-"+kind, onceward.AllRoles...)
		for name, target := range pages {
			b.at(target)
			if over := eval[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
				t.Errorf("%s on a %s window: %d pixels too wide: %s", name, kind, over, eval[string](b, widest))
			}
			if *pictures != "" {
				b.picture(filepath.Join(*pictures, kind, fmt.Sprintf("%s.png", name)))
			}
		}
	}
}

// widest names what reaches furthest beyond the window.
const widest = `[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !e.closest('.scroll, .nav, pre')).map(e => e.tagName + '.' + e.className).slice(0, 5).join(' ')`
