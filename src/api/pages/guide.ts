/** The guide for customers: the files of `docs/` as pages, as text for models, and as a search index. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CSS, HTML, madeOnce, type PublicPage } from '../../dashboard/pages/public-page.ts'
import { escapeHtml, framed, GUIDE_SCRIPT_PATH, GUIDE_STYLE_PATH } from './frame.ts'
import { type RenderedPage, renderMarkdown } from './render-markdown.ts'

const DOCS = join(import.meta.dirname, '..', '..', '..', 'docs')
const JSON_TEXT = 'application/json; charset=utf-8'
const MARKDOWN = 'text/markdown; charset=utf-8'
const PLAIN = 'text/plain; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'
const MAX_AGE_SECONDS = 3_600
const WEB = join(import.meta.dirname, 'web')

/** In reading order. The rest of `docs/` is for those who operate or change the service. */
const CHAPTERS: readonly { readonly title: string; readonly pages: readonly string[] }[] = [
  {
    title: 'Guide',
    pages: [
      'guides/getting-started',
      'guides/authentication',
      'guides/credits',
      'guides/paging',
      'guides/coverage',
      'guides/sealed-pages',
      'guides/errors',
      'guides/prediction-markets',
      'guides/chain-events',
      'guides/webhooks',
      'guides/command-line',
      'guides/migrating',
      'guides/mcp',
    ],
  },
  {
    title: 'In detail',
    pages: [
      'protocol/market-rows',
      'protocol/cursors',
      'protocol/errors',
      'protocol/websocket',
      'protocol/webhooks',
      'protocol/transaction-tags',
    ],
  },
]
/** The pages written for customers; a test runs their programs. */
export const CUSTOMER_PAGES: readonly string[] = CHAPTERS[0]?.pages ?? []
const FIRST = 'guides/getting-started'

/** Maps `guides/credits` to `/guide/credits`, and `protocol/errors` to `/guide/protocol/errors`. */
function guidePath(name: string): string {
  return name === FIRST ? '/guide' : `/guide/${name.replace(/^guides\//, '')}`
}

export function guidePages(): PublicPage[] {
  return pagesOf(CHAPTERS.flatMap(({ pages }) => pages)).map(({ path, contentType, make }) => ({
    path,
    contentType,
    maxAgeSeconds: MAX_AGE_SECONDS,
    read: madeOnce(make),
  }))
}

interface GuidePage extends Pick<PublicPage, 'path' | 'contentType'> {
  readonly make: () => string | Promise<string>
}

function pagesOf(names: readonly string[]): GuidePage[] {
  const rendered = new Map<string, Promise<RenderedPage>>()
  const render = (name: string): Promise<RenderedPage> => {
    const known = rendered.get(name) ?? renderMarkdown(textOf(name), { name, pathOf: linkTarget })
    rendered.set(name, known)
    return known
  }
  const fixed = (path: string, contentType: string, file: string): GuidePage => ({
    path,
    contentType,
    make: () => readFileSync(join(WEB, file), 'utf8'),
  })
  return [
    ...names.flatMap((name): GuidePage[] => [
      ...new Set([guidePath(name), guideAddress(name)]).values().map((path) => ({
        path,
        contentType: HTML,
        make: async () => {
          const { title, html } = await render(name)
          return framed({ title, current: '/guide', side: sideOf(name), content: html })
        },
      })),
      { path: `${guideAddress(name)}.md`, contentType: MARKDOWN, make: () => textOf(name) },
    ]),
    {
      path: '/guide/search.json',
      contentType: JSON_TEXT,
      make: async () =>
        JSON.stringify((await Promise.all(names.map(async (name) => (await render(name)).sections))).flat()),
    },
    { path: '/llms.txt', contentType: PLAIN, make: () => textForModels(names) },
    fixed(GUIDE_STYLE_PATH, CSS, 'guide.css'),
    fixed(GUIDE_SCRIPT_PATH, SCRIPT, 'guide.js'),
  ]
}

/** Unlike `guidePath`, this also names the first page. */
const guideAddress = (name: string) => `/guide/${name.replace(/^guides\//, '')}`

function textOf(name: string): string {
  return readFileSync(join(DOCS, `${name}.md`), 'utf8')
}

const titleOf = (text: string) => /^# (.+)$/m.exec(text)?.[1] ?? ''

/** The address of another page of the guide; undefined if the page is not part of it. */
function linkTarget(name: string): string | undefined {
  return CHAPTERS.some(({ pages }) => pages.includes(name)) ? guidePath(name) : undefined
}

function sideOf(current: string): string {
  const lists = CHAPTERS.map(({ title, pages }) => {
    const items = pages.map((name) => {
      const mark = name === current ? ' aria-current="page"' : ''
      return `<li><a href="${guidePath(name)}"${mark}>${escapeHtml(titleOf(textOf(name)))}</a></li>`
    })
    return `<h2>${title}</h2><ul>${items.join('')}</ul>`
  })
  return `<input type="search" id="search" placeholder="Search" aria-label="Search the guide" hidden><ul id="found"></ul>${lists.join('')}`
}

/** https://llmstxt.org */
function textForModels(names: readonly string[]): string {
  const lines = names.map((name) => {
    const text = textOf(name)
    const [, first = ''] = /^# .+\n+([^#|`\n-][^\n]*)/m.exec(text) ?? []
    return `- [${titleOf(text)}](${guideAddress(name)}.md): ${first.replace(/(?<=\.) .*/, '')}`
  })
  return `# Tapeline

> Market history (exchanges, prediction markets, an oracle) and Kaspa node access behind one API key. Requests are priced in credits; \`dry_run=true\` tells the price and takes none.

Send the key as \`X-API-Key\`. Lists are \`{data, meta}\`: pass \`meta.next_cursor\` as \`after\`. \`meta.coverage.gaps\` is what was not recorded. Models can use the MCP server at \`POST /mcp\`.

## Guide

${lines.join('\n')}

## Reference

- [OpenAPI](/openapi.json): every endpoint with its parameters, prices and examples
- [AsyncAPI](/asyncapi.json): the stream of chain events
`
}
