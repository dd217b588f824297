package console_test

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testneed"
	"github.com/onceward/onceward/internal/testoidc"
)

// chromium is one browser for all tests of the package; each test has contexts of
// its own in it, with their own cookies.
var chromium struct {
	once sync.Once
	ctx  context.Context
	stop func()
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if chromium.stop != nil {
		chromium.stop()
	}
	os.Exit(code)
}

func chromiumPath() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func startChromium(t *testing.T) context.Context {
	t.Helper()
	path := chromiumPath()
	if path == "" {
		testneed.Missing(t, "chromium is not installed: apt-get install chromium")
	}
	chromium.once.Do(func() {
		opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
			chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true))
		alloc, stopAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
		ctx, stop := chromedp.NewContext(alloc)
		chromium.ctx, chromium.stop = ctx, func() { stop(); stopAlloc() }
		chromium.err = chromedp.Do(ctx)
	})
	if chromium.err != nil {
		t.Fatalf("chromium does not start: %v", chromium.err)
	}
	return chromium.ctx
}

// tab is a real browser window with cookies of its own.
type tab struct {
	*world
	ctx context.Context
}

// stepTime is how long one step of a journey may take.
const stepTime = time.Minute

// open opens a window of this width, in light or dark, with or without script.
func (w *world) open(t *testing.T, edits ...chromedp.Action[chromedp.Void]) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(startChromium(t), chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &tab{w, ctx}
	w.must(chromedp.Do(ctx)) // the first call must not be bounded
	b.do(append([]chromedp.Action[chromedp.Void]{chromedp.EmulateViewport(1280, 900)}, edits...)...)
	return b
}

func phone() chromedp.Action[chromedp.Void] {
	return chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch)
}

func dark() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
		return err
	})
}

func withoutScript() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	})
}

func inZone(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name})
		return err
	})
}

func (b *tab) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, stepTime)
}

// do runs steps, all of them in one step's time.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) *tab {
	b.Helper()
	ctx, cancel := b.within()
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.Fatalf("%v; the page is\n%s\n%s", err, b.text(), b.log.String())
	}
	return b
}

// signedIn signs a person with these roles in, by the page.
func (b *tab) signedIn(name string, roles ...onceward.Role) *tab {
	b.Helper()
	return b.do(chromedp.Navigate(b.base+"/signin"), chromedp.SendKeys(chromedp.CSS("input[name=token]"), b.token(name, roles...)+"\r"),
		chromedp.WaitReady(chromedp.CSS("main.page-overview")))
}

// at opens a page.
func (b *tab) at(target string) *tab {
	b.Helper()
	return b.do(chromedp.Navigate(b.base + target))
}

// click clicks what the selector finds first, and waits for nothing.
func (b *tab) click(css string) *tab {
	b.Helper()
	return b.do(chromedp.Click(chromedp.CSS(css)))
}

func (b *tab) typed(css, text string) *tab {
	b.Helper()
	return b.do(chromedp.SendKeys(chromedp.CSS(css), text))
}

// sees waits until the page's text has what is asked.
func (b *tab) sees(texts ...string) *tab {
	b.Helper()
	for _, s := range texts {
		end := time.Now().Add(stepTime)
		for !strings.Contains(b.text(), s) {
			if time.Now().After(end) {
				b.Fatalf("the page does not show %q:\n%s", s, b.text())
			}
			pause()
		}
	}
	return b
}

// pause lets the browser work between two looks at a page.
func pause() { <-time.After(25 * time.Millisecond) }

// text is what a reader sees.
func (b *tab) text() string {
	ctx, cancel := b.within()
	defer cancel()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body ? document.body.innerText : ""`)) // between two pages there is none
	return text
}

func (b *tab) path() string {
	return eval[string](b, "location.pathname")
}

func eval[T any](b *tab, script string) T {
	b.Helper()
	ctx, cancel := b.within()
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.Fatalf("%s: %v", script, err)
	}
	return v
}

// picture writes the whole page as a PNG.
func (b *tab) picture(name string) {
	b.Helper()
	ctx, cancel := b.within()
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	b.must(err)
	b.must(os.MkdirAll(filepath.Dir(name), 0o755))
	b.must(os.WriteFile(name, png, 0o644))
}

// authenticates gives name and password at the identity provider.
func (b *tab) authenticates() *tab {
	b.Helper()
	return b.do(chromedp.SendKeys(chromedp.CSS("input[name=username]"), testoidc.User), chromedp.SendKeys(chromedp.CSS("input[name=password]"), testoidc.Password+"\r"),
		chromedp.WaitReady(chromedp.CSS("main")))
}

// asked notes which addresses the window asks for from now on; the newest that has
// the text in it can be had.
func (b *tab) asked() func(text string) *url.URL {
	b.Helper()
	var mu sync.Mutex
	var all []string
	b.must(chromedp.Listen(b.ctx, func(ev any) {
		if e, ok := ev.(*network.EventRequestWillBeSent); ok {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, e.Request.URL)
		}
	}))
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
		return err
	}))
	return func(text string) *url.URL {
		b.Helper()
		mu.Lock()
		defer mu.Unlock()
		for _, address := range slices.Backward(all) {
			if strings.Contains(address, text) {
				u, err := url.Parse(address)
				b.must(err)
				return u
			}
		}
		b.Fatalf("%q was never asked for: %v", text, all)
		return nil
	}
}

// cookies are those of the page, with what scripts may not read.
func (b *tab) cookies() (all []*network.Cookie) {
	b.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		got, err := chromedp.Call(ctx, network.GetCookies, network.GetCookiesParams{})
		if err == nil {
			all = got.Cookies
		}
		return err
	}))
	return all
}

// withholdScript has the console's script never arrive.
func (b *tab) withholdScript() *tab {
	b.Helper()
	return b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
			return err
		}
		if _, err := chromedp.Call(ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}); err != nil {
			return err
		}
		_, err := chromedp.Call(ctx, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/console.js"}}})
		return err
	}))
}

// goes begins to open a page, and does not wait for it.
func (b *tab) goes(target string) *tab {
	b.Helper()
	return b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Call(ctx, cdppage.Navigate, cdppage.NavigateParams{URL: b.base + target})
		return err
	}))
}

// transferred adds up what a page load takes from the wire, by the browser's own count.
func (b *tab) transferred(target string) (bytes float64, requests int) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	var mu sync.Mutex
	b.must(chromedp.Listen(ctx, func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		if e, ok := ev.(*network.EventLoadingFinished); ok {
			bytes += e.EncodedDataLength
			requests++
		}
	}))
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
			return err
		}
		_, err := chromedp.Call(ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
		return err
	}), chromedp.Navigate(b.base+target))
	mu.Lock()
	defer mu.Unlock()
	return bytes, requests
}
