// Follows each link of the built site: node links.mjs FOLDER. A page or a heading
// that is not there fails it. VitePress looks at the pages as they are written,
// and not at what it made of them.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { posix } from 'node:path'

const site = process.argv[2]
const pages = new Map(
  readdirSync(site, { recursive: true })
    .filter((name) => name.endsWith('.html'))
    .map((name) => [name, readFileSync(posix.join(site, name), 'utf8')]),
)
const plain = (text) => decodeURIComponent(text.replaceAll('&amp;', '&'))
const headings = new Map([...pages].map(([name, text]) => [name, new Set([...text.matchAll(/\sid="([^"]+)"/g)].map((m) => plain(m[1])))]))

// file is what a server with clean addresses answers a path with.
const file = (path) => [path, path + '.html', posix.join(path, 'index.html')].find((name) => pages.has(name) || existsSync(posix.join(site, name)) && !name.endsWith('/') && name.includes('.'))

let followed = 0
const dead = []
for (const [from, text] of pages) {
  for (const [, href] of text.matchAll(/<a [^>]*?href="([^"]+)"/g)) {
    if (/^[a-z]+:/.test(href)) continue
    followed++
    const [path, heading] = plain(href).split('#')
    const to = path === '' ? from : file(path.startsWith('/') ? posix.normalize(path.slice(1) || '.') : posix.join(posix.dirname(from), path))
    if (!to || (heading && !headings.get(to)?.has(heading))) dead.push(`${from}: ${href}`)
  }
}
for (const line of dead) console.error('leads nowhere: ' + line)
console.log(`${pages.size} pages, ${followed} links, ${dead.length} lead nowhere`)
process.exit(dead.length || followed === 0 ? 1 : 0)
