import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countTurns } from '../../../test/fakes/count-turns.ts'
import { errorsPage } from './errors-page.ts'
import { guidePages } from './guide.ts'

const files = new Map([...guidePages(), errorsPage].map((file) => [file.path, file]))
async function textOf(path: string): Promise<string> {
  const page = await files.get(path)?.read()
  return String(typeof page === 'object' && 'encoded' in page ? page.body : page)
}
const pages = await Promise.all(
  [...files.values()]
    .filter(({ contentType }) => contentType.startsWith('text/html'))
    .map(async ({ path }) => ({ path, html: await textOf(path) })),
)
/** Paths that are served elsewhere. */
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
  // A regular expression that matches too much would put the code of other sections into the first tabs.
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
  const found = JSON.parse(await textOf('/guide/search.json')) as Record<string, string>[]
  const section = found.find(({ title }) => title === 'Know the price before')
  assert.equal(section?.path, '/guide/credits#know-the-price-before')
  assert.match(section?.text ?? '', /dry_run=true/)
  assert.ok(JSON.stringify(found).length < 200_000)
})

test('models find every page as Markdown', async () => {
  const text = await textOf('/llms.txt')
  const links = [...text.matchAll(/\]\((\/guide\/[^)]+)\): (.*)/g)]
  assert.ok(links.length > 15)
  for (const [, path = '', about = ''] of links) {
    assert.ok((await textOf(path)).startsWith('# '), path)
    assert.ok(about.length > 10, path)
  }
})

test('a page is made once, and all of them one by one in turns of the loop', async () => {
  const fresh = guidePages()
  const search = fresh.find(({ path }) => path === '/guide/search.json')
  const { turns, result: made } = await countTurns(async () => search?.read())
  assert.ok(turns > 15, `${turns} turns of the loop`)
  assert.equal(await search?.read(), made)
  for (const { read } of fresh) assert.equal(await read(), await read())
})
