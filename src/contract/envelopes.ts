import type { ListAnswer } from './endpoint.ts'

/** The formats of lists: a JSON envelope, one row per line, or CSV, all built from the same row texts. */
export const FORMATS = ['json', 'ndjson', 'csv'] as const
export type Format = (typeof FORMATS)[number]

export const CONTENT_TYPES: Record<Format, string> = {
  json: 'application/json; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
}

/** JSON text has no raw line breaks, so the separator cannot occur inside a row. */
export const ROW_SEPARATOR = ',\n'

const JSON_HEAD = '{"data":['

/**
 * The parts of a page, in order: joining a long text with its envelope would copy it. CSV is rendered by `csvPage`,
 * which is asynchronous because it takes longer.
 */
export function renderList(answer: ListAnswer, format: Exclude<Format, 'csv'>): readonly (Buffer | string)[] {
  const parts = typeof answer.rows === 'string' ? [answer.rows] : answer.rows
  if (format === 'json' && answer.wrap !== undefined) {
    const { head, tail } = answer.wrap
    return [head, ...parts, tail]
  }
  if (format === 'json') {
    const { count, hasMore, nextCursor, meta } = answer
    const fields = { ...meta, count, returned: count, has_more: hasMore, next_cursor: nextCursor }
    return [JSON_HEAD, ...parts, `],"meta":${JSON.stringify(fields)}}`]
  }
  return answer.count === 0 ? [] : [parts.join('').replaceAll(ROW_SEPARATOR, '\n'), '\n']
}

export function csvLine(fields: readonly string[]): string {
  return `${fields.join(',')}\r\n`
}

/** RFC 4180. Null is an empty field and an empty text a quoted one; lists and objects are JSON. */
export function csvField(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A preview has only a count. */
export function previewAnswer(count: number, clamped: boolean): ListAnswer {
  return {
    kind: 'list',
    rows: '',
    count,
    hasMore: false,
    nextCursor: null,
    meta: {},
    sealed: false,
    clamped,
    coverageComplete: true,
  }
}

/** A page of a list with its own envelope. Rows are JSON texts. */
export function wrappedPage(page: {
  rows: readonly string[]
  head: string
  tail: string
  hasMore?: boolean
  nextCursor?: string | null
  coverageComplete?: boolean
}): ListAnswer {
  const { rows, head, tail, hasMore = false, nextCursor = null, coverageComplete = true } = page
  return {
    kind: 'list',
    rows: rows.join(ROW_SEPARATOR),
    count: rows.length,
    hasMore,
    nextCursor,
    meta: {},
    sealed: false,
    clamped: false,
    coverageComplete,
    wrap: { head, tail },
  }
}
