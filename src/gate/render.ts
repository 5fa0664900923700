import { createHash, hash } from 'node:crypto'
import type { EndpointAnswer, ListAnswer, Returns } from '../contract/endpoint.ts'
import { CONTENT_TYPES, type Format, renderList } from '../contract/envelopes.ts'
import { bufferPool } from '../kit/buffer-pool.ts'
import type { LentBody } from './request.ts'

/** The bytes of an answer. Rendering a list page again costs nothing while its answer is kept. */
export interface Rendered {
  readonly body: Buffer | string | readonly Buffer[]
  readonly contentType: string
  /** Strong, of the exact bytes; undefined where the answer is not worth one. */
  readonly etag: string | undefined
  /** Set on pages that nothing can change any more: compressed forms are kept under their tag. */
  readonly sealed: boolean
  readonly lent?: LentBody
}

const MAX_TEXT_BODY = 4_096

/** Pages that are read once are joined here: one write and one hash cost less than several. */
const pool = bufferPool({ bytes: 65_536, most: 64 })
/** Free space before a lent body, for the head of the answer. */
const HEAD_ROOM = 2_048
const MAX_BYTES_PER_UNIT = 3

const renderedObjects = new WeakMap<object, Rendered>()
const renderedLists = new WeakMap<ListAnswer, Map<Format, Rendered>>()

export function render(answer: EndpointAnswer, format: Format, returns: Returns): Rendered {
  if (answer.kind === 'list') return renderPage(answer, format, returns)
  if (answer.kind === 'text') {
    return { body: answer.text, contentType: answer.contentType, etag: undefined, sealed: false }
  }
  if (answer.cacheable && typeof answer.value === 'object' && answer.value !== null) {
    return renderKept(answer.value)
  }
  return {
    body: JSON.stringify(answer.value),
    contentType: CONTENT_TYPES.json,
    etag: undefined,
    sealed: false,
  }
}

/** A catalog that gives the same object again is rendered once. */
function renderKept(value: object): Rendered {
  const known = renderedObjects.get(value)
  if (known !== undefined) return known
  const body = JSON.stringify(value)
  const rendered = { body, contentType: CONTENT_TYPES.json, etag: etagOf(body), sealed: false }
  renderedObjects.set(value, rendered)
  return rendered
}

function renderPage(answer: ListAnswer, format: Format, returns: Returns): Rendered {
  const known = renderedLists.get(answer)
  const ready = known?.get(format)
  if (ready !== undefined) return ready
  const columns = returns.kind === 'list' ? columnsOf(returns.row) : []
  const whole = renderList(answer, format, columns)
  // What will be sent again is turned into bytes once; a short text leaves with its head in one write.
  const isKept = answer.isCurrent !== undefined
  const lent = isKept || typeof whole === 'string' ? undefined : lentCopy(whole)
  const body = lent?.body ?? (isKept ? joined(whole) : typeof whole === 'string' ? whole : asBuffers(whole))
  const rendered: Rendered = {
    body,
    contentType: CONTENT_TYPES[format],
    etag: etagOf(body),
    sealed: answer.sealed,
    ...(lent ? { lent } : {}),
  }
  if (!isKept) return rendered
  if (known === undefined) renderedLists.set(answer, new Map([[format, rendered]]))
  else known.set(format, rendered)
  return rendered
}

/** The columns of a CSV: the fields of the row, or of all its shapes in turn. */
export function columnsOf(row: object): string[] {
  const { properties, anyOf } = row as { properties?: object; anyOf?: object[] }
  if (properties !== undefined) return Object.keys(properties)
  return [...new Set((anyOf ?? []).flatMap((shape) => columnsOf(shape)))]
}

function lentCopy(parts: readonly (Buffer | string)[]): (LentBody & { body: Buffer }) | undefined {
  let most = HEAD_ROOM
  for (const part of parts) most += typeof part === 'string' ? part.length * MAX_BYTES_PER_UNIT : part.length
  const buffer = pool.take(most)
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

function joined(body: string | readonly (Buffer | string)[]): string | Buffer {
  if (typeof body !== 'string') return Buffer.concat(asBuffers(body))
  return body.length > MAX_TEXT_BODY ? Buffer.from(body) : body
}

function asBuffers(parts: readonly (Buffer | string)[]): Buffer[] {
  return parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))
}

function etagOf(body: string | Buffer | readonly Buffer[]): string {
  return `"${digestOf(body).slice(0, 32)}"`
}

function digestOf(body: string | Buffer | readonly Buffer[]): string {
  if (typeof body === 'string' || Buffer.isBuffer(body)) return hash('sha256', body, 'base64url')
  const digest = createHash('sha256')
  for (const part of body) digest.update(part)
  return digest.digest('base64url')
}

/** The same page in another content encoding has another strong tag; all of them mean the same page. */
export function matchesEtag(header: string | undefined, etag: string | undefined): boolean {
  if (header === undefined || etag === undefined) return false
  if (header.trim() === '*') return true
  const plain = etag.slice(1, -1)
  return header.split(',').some((entry) => {
    const tag = entry.trim().replace(/^W\//, '').replace(/^"|"$/g, '')
    return tag === plain || (/^-(br|gzip|zstd)$/.test(tag.slice(plain.length)) && tag.startsWith(plain))
  })
}
