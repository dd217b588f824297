// The console's one script. Every page reads and decides without it; it writes
// times in the viewer's zone, keeps pages up to date, and knows a few keys.
'use strict';

// Times: the page has UTC, which stays as the title.
const zone = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
function localTimes(root) {
  for (const t of root.querySelectorAll('time[datetime]')) {
    const at = new Date(t.dateTime);
    if (isNaN(at)) continue;
    const part = Object.fromEntries(zone.formatToParts(at).map(p => [p.type, p.value]));
    t.textContent = `${part.year}-${part.month}-${part.day} ${part.hour}:${part.minute}:${part.second}`;
  }
  for (const t of root.querySelectorAll('text[data-at]')) {
    const at = new Date(t.dataset.at);
    const part = Object.fromEntries(zone.formatToParts(at).map(p => [p.type, p.value]));
    t.textContent = t.dataset.as === 'day' ? `${part.month}-${part.day}` : `${part.hour}:${part.minute}`;
  }
}
localTimes(document);

// Live updates: the stream says that something changed; the page is read again,
// and its parts take the place of those that are shown. A part in which somebody
// writes stays as it is.
const topic = document.body.dataset.live;
const live = document.getElementById('live-state');
let stream, timer, asked = 0, reading = false, again = false;
const pause = 1500; // between two readings, at least

function tell(state, word) {
  if (!live) return;
  const text = live.dataset[word];
  live.className = 'live ' + state;
  if (live.textContent !== text) live.textContent = text;
}

function busy(part) {
  if (part.contains(document.activeElement) && document.activeElement.matches('input, textarea, select')) return true;
  for (const field of part.querySelectorAll('input:not([type=hidden]), textarea, select')) {
    if (field.type === 'checkbox' ? field.checked !== field.defaultChecked : field.value !== (field.defaultValue ?? field.value)) return true;
  }
  return false;
}

function replacePart(old, fresh) {
  const open = new Set([...old.querySelectorAll('details[open] > summary')].map(s => s.textContent));
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const trail = focused && (focused.getAttribute('href') || focused.getAttribute('data-key') || (focused.tagName === 'SUMMARY' && focused.textContent));
  old.replaceChildren(...fresh.childNodes);
  for (const s of old.querySelectorAll('details > summary')) if (open.has(s.textContent)) s.parentElement.open = true;
  if (trail) {
    const to = [...old.querySelectorAll('a, button, summary')].find(e => e.getAttribute('href') === trail || e.getAttribute('data-key') === trail || e.textContent === trail);
    if (to) to.focus({ preventScroll: true });
  }
}

async function refresh() {
  if (reading) { again = true; return; }
  reading = true;
  asked = Date.now();
  try {
    const to = new URL(location.href);
    to.searchParams.delete('done');
    const answer = await fetch(to, { headers: { 'Onceward-Live': '1' }, redirect: 'manual', cache: 'no-store' });
    if (answer.type === 'opaqueredirect') { location.reload(); return; }
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    localTimes(page);
    for (const part of document.querySelectorAll('[data-part]')) {
      const fresh = page.getElementById(part.id);
      if (!fresh) { if (!busy(part)) part.replaceChildren(); continue; }
      if (fresh.innerHTML === part.innerHTML || busy(part)) continue;
      if (part.dataset.keep !== undefined && sameForms(part, fresh)) continue;
      replacePart(part, fresh);
    }
  } catch { /* the stream tells when the server is back */ } finally {
    reading = false;
    if (again) { again = false; soon(); }
  }
}

// Forms that are still the same are left alone, so that nothing jumps.
function sameForms(a, b) {
  const shape = e => [...e.querySelectorAll('form')].map(f => f.action + '?' + [...f.elements].filter(x => x.type === 'hidden').map(x => x.name + '=' + x.value).join('&')).join('\n') + e.querySelectorAll('summary').length;
  return shape(a) === shape(b);
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(refresh, Math.max(60, asked + pause - Date.now()));
}

function follow() {
  if (!topic || stream || document.hidden) return;
  stream = new EventSource('/live?topic=' + encodeURIComponent(topic));
  stream.addEventListener('open', () => tell('up', 'up'));
  stream.addEventListener('change', soon);
  stream.addEventListener('end', () => { leave(); location.reload(); });
  stream.onerror = () => tell('down', stream && stream.readyState === EventSource.CLOSED ? 'down' : 'wait');
}

function leave() {
  if (stream) stream.close();
  stream = undefined;
}

document.addEventListener('visibilitychange', () => { if (document.hidden) { leave(); } else { follow(); } });
addEventListener('pagehide', leave);
addEventListener('pageshow', e => { if (e.persisted) { follow(); soon(); } });
follow();

// Keys. Whoever needs single characters for something else turns them off.
const switched = document.getElementById('keys-toggle');
let keys = true;
try { keys = localStorage.getItem('keys') !== 'off'; } catch { /* no storage, no memory */ }
if (switched) {
  switched.parentElement.hidden = false;
  switched.setAttribute('aria-pressed', String(keys));
  switched.addEventListener('click', () => {
    keys = !keys;
    switched.setAttribute('aria-pressed', String(keys));
    try { localStorage.setItem('keys', keys ? 'on' : 'off'); } catch { /* as above */ }
  });
}

let here = -1;
function move(by) {
  const items = [...document.querySelectorAll('[data-keys] > tbody > tr, [data-keys] > li')];
  if (!items.length) return;
  here = Math.min(items.length - 1, Math.max(0, here + by));
  for (const item of items) item.classList.remove('here');
  items[here].classList.add('here');
  const link = items[here].querySelector('a');
  if (link) link.focus();
}

document.addEventListener('keydown', e => {
  if (!keys || e.ctrlKey || e.metaKey || e.altKey || e.target.closest('input, textarea, select, [contenteditable]')) return;
  switch (e.key) {
    case '/': {
      const field = document.querySelector('[data-search]');
      if (field) { e.preventDefault(); field.focus(); field.select(); }
      return;
    }
    case 'j': move(1); return;
    case 'k': move(-1); return;
  }
  const target = e.key.length === 1 && document.querySelector(`[data-key="${CSS.escape(e.key)}"]`);
  if (!target) return;
  e.preventDefault();
  // A key never decides: it leads to what does, and Enter decides.
  if (target.tagName === 'SUMMARY') {
    target.parentElement.open = true;
    const field = target.parentElement.querySelector('textarea, input:not([type=hidden])');
    (field || target).focus();
  } else {
    target.focus();
  }
});
