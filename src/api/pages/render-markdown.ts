import { dirname, join } from 'node:path'
import type { Tokens } from 'marked'
import { nextTurn } from '../../kit/time-slices.ts'
import { escapeHtml } from './frame.ts'

export interface RenderedPage {
  readonly title: string
  readonly html: string
  /** The search index: each heading with the text below it. */
  readonly sections: readonly { readonly path: string; readonly title: string; readonly text: string }[]
}

interface PageLinks {
  /** The name of this page, such as `guides/credits`. */
  readonly name: string
  /** The address of a page by its name; undefined if it is not served. */
  pathOf(name: string): string | undefined
}

const LANGUAGES: Record<string, string> = {
  sh: 'Shell',
  ts: 'TypeScript',
  python: 'Python',
  go: 'Go',
  json: 'JSON',
  text: 'Text',
}
/** Adjacent code blocks. Displayed code contains no `<`, so a match cannot extend over a paragraph. */
const NEIGHBOURS = /(?:<figure[^<]*<pre><code>[^<]*<\/code><\/pre><\/figure>\s*){2,}/g
const MAX_SEARCHED_CHARS = 4_000

/** The parser is loaded with the first page that is requested, because many services never serve the guide. */
export async function renderMarkdown(text: string, links: PageLinks): Promise<RenderedPage> {
  const { Marked } = await import('marked')
  // A page takes milliseconds, and the search index needs all of them.
  await nextTurn()
  const marked = new Marked({ gfm: true })
  marked.use({
    renderer: {
      heading({ tokens, depth, text: words }: Tokens.Heading) {
        const id = slugOf(words)
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      code({ text: code, lang = '' }: Tokens.Code) {
        const [language = ''] = lang.split(' ')
        const label = LANGUAGES[language] ?? language
        return `<figure data-language="${escapeHtml(label)}"><pre><code>${escapeHtml(code)}</code></pre></figure>\n`
      },
      link({ href, tokens }: Tokens.Link) {
        return `<a href="${escapeHtml(targetOf(href, links))}">${this.parser.parseInline(tokens)}</a>`
      },
      table(token: Tokens.Table) {
        const row = (cells: Tokens.TableCell[], tag: string) =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`
        const rows = token.rows.map((cells) => row(cells, 'td')).join('')
        return `<div class="scroll"><table><thead>${row(token.header, 'th')}</thead><tbody>${rows}</tbody></table></div>\n`
      },
    },
  })
  const html = await marked.parse(text)
  return {
    title: /^# (.+)$/m.exec(text)?.[1] ?? '',
    html: html.replace(NEIGHBOURS, (blocks) => `<div class="blocks">${blocks}</div>`),
    sections: sectionsOf(text, links.pathOf(links.name) ?? ''),
  }
}

/** Maps `./credits.md#price` in a guide to `/guide/credits#price`. */
function targetOf(href: string, { name, pathOf }: PageLinks): string {
  const [file = '', fragment] = href.split('#')
  if (!file.endsWith('.md') || /^[a-z]+:/.test(file)) return href
  const target = pathOf(join(dirname(name), file.slice(0, -'.md'.length)))
  return target === undefined ? href : `${target}${fragment === undefined ? '' : `#${fragment}`}`
}

function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
}

function sectionsOf(text: string, path: string): RenderedPage['sections'] {
  const prose = text.replaceAll(/^```\w*$/gm, '')
  return prose.split(/^(?=#{1,3} )/m).flatMap((section) => {
    const [, hashes = '', title = ''] = /^(#{1,3}) (.+)$/m.exec(section) ?? []
    if (title === '') return []
    const words = section.slice(section.indexOf('\n')).replaceAll(/\s+/g, ' ').trim()
    const target = hashes === '#' ? path : `${path}#${slugOf(title)}`
    return [{ path: target, title, text: words.slice(0, MAX_SEARCHED_CHARS) }]
  })
}
