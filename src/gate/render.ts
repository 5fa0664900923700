import type { EndpointAnswer, ListAnswer, Returns } from '../contract/endpoint.ts'
import { CONTENT_TYPES, type Format, renderList } from '../contract/envelopes.ts'
import { bufferPool } from '../kit/buffer-pool.ts'
import { contentHash } from '../kit/content-hash.ts'
import { type CsvPage, csvPage } from './csv-page.ts'
import { isLongPage, ndjsonPage } from './ndjson-page.ts'
import type { EncodedForms, LentBody } from './request.ts'

/** The bytes of an answer. */
export interface Rendered {
  readonly body: Buffer | string | readonly Buffer[]
  readonly contentType: string
  /** A strong tag of the exact bytes; undefined if the answer is not worth one. */
  readonly etag: string | undefined
  /** Nothing on the page can change any more. */
  readonly sealed: boolean
  readonly lent?: LentBody
  /** Present for a page in the page cache, or for a document that many callers request. */
  readonly encoded?: EncodedForms
}

const MAX_TEXT_BODY = 4_096

/**
 * Pages that are sent once are assembled here, because one write and one hash cost less than several. A text would be
 * converted to bytes for each hash and for the write.
 */
const pool = bufferPool({ bytes: 65_536, most: 64 })
/** Free space before a pooled body, for the head of the response. */
const HEAD_ROOM = 2_048

const renderedObjects = new WeakMap<object, Rendered>()
const sharedForms = new WeakMap<Buffer, EncodedForms>()

/** Returns a promise only for long pages of CSV and NDJSON. */
export function render(
  answer: EndpointAnswer,
  format: Format,
  returns: Returns,
): Rendered | Promise<Rendered> {
  if (answer.kind === 'list') return renderOnce(answer, format, returns)
  if (answer.kind === 'text') {
    const { text: body, contentType, isShared } = answer
    const encoded = isShared && Buffer.isBuffer(body) ? { encoded: encodedForms(body) } : {}
    return { body, contentType, etag: undefined, sealed: false, ...encoded }
  }
  if (answer.cacheable && typeof answer.value === 'object' && answer.value !== null) {
    return renderObject(answer.value)
  }
  return {
    body: JSON.stringify(answer.value),
    contentType: CONTENT_TYPES.json,
    etag: undefined,
    sealed: false,
  }
}

/** A catalog stays the same object until it changes, so it is rendered once. */
function renderObject(value: object): Rendered {
  const known = renderedObjects.get(value)
  if (known !== undefined) return known
  const body = JSON.stringify(value)
  const rendered = { body, contentType: CONTENT_TYPES.json, etag: etagOf(body), sealed: false }
  renderedObjects.set(value, rendered)
  return rendered
}

function encodedForms(body: Buffer): EncodedForms {
  const known = sharedForms.get(body)
  if (known !== undefined) return known
  const forms = new Map<string, Buffer>()
  sharedForms.set(body, forms)
  return forms
}

/** Renders a page for the page cache into its own bytes. */
export function renderStored(
  answer: ListAnswer,
  format: Format,
  returns: Returns,
): Rendered | Promise<Rendered> {
  const made = madeInTurns(answer, format, returns)
  if (made === undefined)
    return page(joined(renderList(answer, format as Exclude<Format, 'csv'>)), answer, format)
  return whenMade(made, ({ body, hash }) =>
    taggedPage(joined(typeof body === 'string' ? [body] : body), hash, answer, format),
  )
}

function renderOnce(answer: ListAnswer, format: Format, returns: Returns): Rendered | Promise<Rendered> {
  const made = madeInTurns(answer, format, returns)
  if (made !== undefined) return whenMade(made, ({ body, hash }) => taggedPage(body, hash, answer, format))
  const parts = renderList(answer, format as Exclude<Format, 'csv'>)
  if (isShortText(parts)) return page(parts.join(''), answer, format)
  const lent = lentCopy(parts)
  return lent === undefined
    ? page(asBuffers(parts), answer, format)
    : { ...page(lent.body, answer, format), lent }
}

/** Undefined if the page is rendered synchronously. */
function madeInTurns({ rows }: ListAnswer, format: Format, returns: Returns) {
  if (format === 'csv') return csvPage(rows, csvColumns(returns))
  return format === 'ndjson' && isLongPage(rows) ? ndjsonPage(rows) : undefined
}

function whenMade(
  made: CsvPage | Promise<CsvPage>,
  use: (page: CsvPage) => Rendered,
): Rendered | Promise<Rendered> {
  return made instanceof Promise ? made.then(use) : use(made)
}

function page(body: Rendered['body'], answer: ListAnswer, format: Format): Rendered {
  return taggedPage(body, contentHash(body), answer, format)
}

function taggedPage(body: Rendered['body'], hash: string, { sealed }: ListAnswer, format: Format): Rendered {
  return { body, contentType: CONTENT_TYPES[format], etag: `"${hash}"`, sealed }
}

function csvColumns(returns: Returns): string[] {
  return returns.kind === 'list' ? columnsOf(returns.row) : []
}

/** The fields of the row, or of all its shapes. */
function columnsOf(row: object): string[] {
  const { properties, anyOf } = row as { properties?: object; anyOf?: object[] }
  if (properties !== undefined) return Object.keys(properties)
  return [...new Set((anyOf ?? []).flatMap((shape) => columnsOf(shape)))]
}

function lentCopy(parts: readonly (Buffer | string)[]): (LentBody & { body: Buffer }) | undefined {
  const buffer = pool.take(HEAD_ROOM + parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0))
  if (buffer === undefined) return undefined
  let offset = HEAD_ROOM
  for (const part of parts) {
    if (typeof part === 'string') offset += buffer.write(part, offset, 'utf8')
    else {
      buffer.set(part, offset)
      offset += part.length
    }
  }
  return { body: buffer.subarray(HEAD_ROOM, offset), release: () => pool.give(buffer), room: HEAD_ROOM }
}

function joined(parts: readonly (Buffer | string)[]): string | Buffer {
  return isShortText(parts) ? parts.join('') : Buffer.concat(asBuffers(parts))
}

function isShortText(parts: readonly (Buffer | string)[]): boolean {
  let length = 0
  for (const part of parts) {
    if (typeof part !== 'string') return false
    length += part.length
  }
  return length <= MAX_TEXT_BODY
}

function asBuffers(parts: readonly (Buffer | string)[]): Buffer[] {
  return parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))
}

const etagOf = (body: string): string => `"${contentHash(body)}"`

/** Each content encoding of a page has its own strong tag; any of them matches. */
export function matchesEtag(header: string | undefined, etag: string | undefined): boolean {
  if (header === undefined || etag === undefined) return false
  if (header.trim() === '*') return true
  const plain = etag.slice(1, -1)
  return header.split(',').some((entry) => {
    const tag = entry.trim().replace(/^W\//, '').replace(/^"|"$/g, '')
    return tag === plain || (/^-(br|gzip|zstd)$/.test(tag.slice(plain.length)) && tag.startsWith(plain))
  })
}
