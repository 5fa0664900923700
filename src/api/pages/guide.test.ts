import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorsPage } from './errors-page.ts'
import { guidePages } from './guide.ts'

const files = new Map([...guidePages(), errorsPage].map((file) => [file.path, file]))
const pages = await Promise.all(
  [...files.values()]
    .filter(({ contentType }) => contentType.startsWith('text/html'))
    .map(async ({ path, read }) => ({ path, html: String(await read()) })),
)
/** Served by others. */
const OTHERS = ['/', '/docs', '/openapi.json', '/asyncapi.json', '/favicon.svg']

test('every link of the guide leads somewhere, and nothing is loaded from elsewhere', () => {
  assert.ok(pages.length > 15)
  for (const { path, html } of pages) {
    for (const [, name, target = ''] of html.matchAll(/ (href|src)="([^"]*)"/g)) {
      if (/^https:/.test(target)) assert.equal(name, 'href', `${path}: ${target}`)
      else {
        const [file = '', fragment] = target.split('#')
        assert.ok(file === '' || files.has(file) || OTHERS.includes(file), `${path}: ${target}`)
        const other = file === '' ? html : pages.find((page) => page.path === file)?.html
        if (fragment !== undefined && other !== undefined)
          assert.ok(other.includes(`id="${fragment}"`), `${path}: ${target}`)
      }
    }
  }
})

test('code is shown as it is written, in tabs where several languages stand together', () => {
  const first = pages.find(({ path }) => path === '/guide')?.html ?? ''
  assert.match(first, /<div class="blocks"><figure data-language="Shell">/)
  assert.match(first, /curl -s -H &quot;X-API-Key: \$TAPELINE_KEY&quot;/)
  // A regular expression that reaches too far would put the code of other sections into the first tabs.
  const groups = pages.flatMap(({ html }) => html.match(/<div class="blocks">[\s\S]*?<\/div>/g) ?? [])
  assert.ok(groups.length > 10)
  for (const group of groups) {
    assert.doesNotMatch(group, /<(h\d|p|ul|table)\b/)
    const languages = [...group.matchAll(/data-language="(\w+)"/g)].map(([, name]) => name)
    assert.equal(new Set(languages).size, languages.length, languages.join())
  }
  assert.equal(first.match(/<title>(.*)<\/title>/)?.[1], 'Getting started · Tapeline')
})

test('the words of every section can be searched', async () => {
  const found = JSON.parse(String(await files.get('/guide/search.json')?.read())) as Record<string, string>[]
  const section = found.find(({ title }) => title === 'Know the price before')
  assert.equal(section?.path, '/guide/credits#know-the-price-before')
  assert.match(section?.text ?? '', /dry_run=true/)
  assert.ok(JSON.stringify(found).length < 200_000)
})

test('models find every page as Markdown', async () => {
  const text = String(await files.get('/llms.txt')?.read())
  const links = [...text.matchAll(/\]\((\/guide\/[^)]+)\): (.*)/g)]
  assert.ok(links.length > 15)
  for (const [, path = '', about = ''] of links) {
    assert.ok(String(await files.get(path)?.read()).startsWith('# '), path)
    assert.ok(about.length > 10, path)
  }
})
