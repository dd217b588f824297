// The documentation as a site: make site.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

const docs = join(dirname(fileURLToPath(import.meta.url)), '..')
const source = 'https://github.com/onceward/onceward/blob/main/'

// title is a page's first heading.
const title = (page) => readFileSync(join(docs, page), 'utf8').match(/^# (.+)$/m)?.[1].replaceAll('`', '') ?? page

// section lists the pages of a folder, its README first.
const section = (text, folder, collapsed = false) => ({
  text,
  collapsed,
  items: readdirSync(join(docs, folder))
    .filter((name) => name.endsWith('.md') && !name.includes('template'))
    .sort((a, b) => (b === 'README.md') - (a === 'README.md') || a.localeCompare(b))
    .map((name) => ({ text: title(join(folder, name)), link: '/' + join(folder, name).replace(/README\.md$/, '').replace(/\.md$/, '') })),
})

// outward leads a link out of this folder to the file in the repository, and to a
// folder's README to the folder: pages are read there and here.
const outward = (href, page) => {
  if (/^(?:[a-z]+:|#|\/)/.test(href)) return href
  const [path, hash] = href.split('#')
  const target = normalize(join(dirname(page), path))
  if (target.startsWith('..') || (!target.endsWith('.md') && existsSync(join(docs, target)))) {
    return source + normalize(join('docs', target)).replace(/^(\.\.\/)+/, '') + (hash ? '#' + hash : '')
  }
  return href
}

export default defineConfig({
  title: 'Onceward',
  description: 'One business intention, one stable key, one recorded outcome',
  cleanUrls: true,
  lastUpdated: false,
  srcExclude: ['node_modules/**'],
  rewrites: { 'README.md': 'index.md', ':folder/README.md': ':folder/index.md', ':a/:b/README.md': ':a/:b/index.md' },
  markdown: {
    html: false,
    attrs: { disable: true }, // {name} in a heading is a parameter of a path
    config(md) {
      const render = md.renderer.rules.link_open ?? ((tokens, at, options, _env, self) => self.renderToken(tokens, at, options))
      md.renderer.rules.link_open = (tokens, at, options, env, self) => {
        const href = tokens[at].attrGet('href')
        if (href && env.relativePath) tokens[at].attrSet('href', outward(href, env.realPath ? env.realPath.slice(docs.length + 1) : env.relativePath))
        // A folder's README is its index here; VitePress rewrites the page and not what leads to it.
        return render(tokens, at, options, env, self).replace(/(href="(?:[^"#]*\/)?)README(?=["#])/, '$1')
      }
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: [
      section('Start', '.'),
      section('Operating', 'operating'),
      section('Reference', 'reference'),
      section('Runbooks', 'operating/runbooks', true),
      section('Decisions', 'decisions', true),
    ],
    socialLinks: [{ icon: 'github', link: 'https://github.com/onceward/onceward' }],
  },
})
