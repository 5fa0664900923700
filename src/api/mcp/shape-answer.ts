import type { EndpointPage, JsonObject } from './read-endpoint.ts'

/** Maximum number of characters in one answer, everything included. */
export const MAX_ANSWER_CHARS = 20_000
/** Limits for lists inside objects, such as the gaps of a coverage or the outputs of a transaction. */
const LIST_ITEMS = [50, 20, 8, 3, 1] as const
const MAX_TEXT_CHARS = 2_000

/** Rows as a table in which names, and values that all rows share, appear once. */
export interface RowTable {
  readonly same_in_all_rows: JsonObject
  readonly columns: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
}

export function tableOf(rows: readonly JsonObject[], fields?: readonly string[]): RowTable {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter(
    (name) => fields === undefined || fields.includes(name),
  )
  const [first] = rows
  const isShared = (name: string) =>
    rows.length > 1 && rows.every((row) => JSON.stringify(row[name]) === JSON.stringify(first?.[name]))
  const shared = names.filter(isShared)
  const columns = names.filter((name) => !shared.includes(name))
  return {
    same_in_all_rows: Object.fromEntries(shared.map((name) => [name, first?.[name] ?? null])),
    columns,
    rows: rows.map((row) => columns.map((name) => row[name] ?? null)),
  }
}

/** A page of rows within the character limit. Rows that do not fit are left out, and `rest` says how to get them. */
export function shapePage(
  page: EndpointPage & { readonly rows: readonly JsonObject[] },
  options: { readonly fields?: readonly string[]; readonly price: JsonObject; readonly note?: string },
): JsonObject {
  const { rows, facts, cursorParam, nextCursor } = page
  const build = (count: number): JsonObject => {
    const shown = rows.slice(0, count)
    const cursor = cursorParam === null || nextCursor === null ? undefined : { [cursorParam]: nextCursor }
    return {
      ...tableOf(shown, options.fields),
      ...shortFacts(facts),
      rows_shown: count,
      rest: count < rows.length ? omitted(rows, count) : (cursor && nextPage(cursor)) || null,
      ...(options.note === undefined ? {} : { note: options.note }),
      price: options.price,
    }
  }
  let count = rows.length
  let answer = build(count)
  for (let chars = charsOf(answer); chars > MAX_ANSWER_CHARS && count > 0; chars = charsOf(answer)) {
    count = Math.min(count - 1, Math.floor((count * MAX_ANSWER_CHARS * 0.9) / chars))
    answer = build(count)
  }
  return shapeObject(answer)
}

function nextPage(cursor: JsonObject): JsonObject {
  return { how: 'Make the same call with this argument added for the next rows.', add: cursor }
}

/** A cursor would continue after the rows that were read, so the rest is addressed by time. */
function omitted(rows: readonly JsonObject[], count: number): JsonObject {
  const left = rows.length - count
  const [first, last] = [timeOf(rows[0]), timeOf(rows.at(-1))]
  const from = timeOf(rows[count])
  const base = `${left} more rows were read but are too long for one answer.`
  if (from === undefined || first === undefined || last === undefined)
    return {
      how: `${base} Make the call with limit ${Math.max(1, count)} and follow its rest, or name fewer fields.`,
    }
  const isAscending = first <= last
  return {
    how: `${base} Make the same call with this argument instead of a cursor, and a smaller limit, fewer fields or buckets. Rows of that very time may appear again.`,
    add: isAscending ? { start: from } : { end: new Date(Date.parse(from) + 1).toISOString() },
  }
}

function timeOf(row: JsonObject | undefined): string | undefined {
  return typeof row?.timestamp === 'string' ? row.timestamp : undefined
}

/** The meta of a list without what the answer states elsewhere, and with coverage at the top level. */
function shortFacts(facts: JsonObject): JsonObject {
  const { meta, credits_used: _credits, next_cursor: _cursor, ...others } = facts
  const {
    coverage,
    count: _count,
    returned: _returned,
    next_cursor: _next,
    ...rest
  } = (meta ?? {}) as JsonObject
  const told = Object.entries(rest).filter(([, value]) => value !== null && value !== undefined)
  return {
    ...others,
    ...(coverage === undefined ? {} : { coverage: shortLists(coverage, 20) }),
    ...(told.length === 0 ? {} : { meta: Object.fromEntries(told) }),
  }
}

/** An object within the character limit: if it is too long, fewer items of its lists are shown. */
export function shapeObject(value: JsonObject): JsonObject {
  if (charsOf(value) <= MAX_ANSWER_CHARS) return value
  for (const items of LIST_ITEMS) {
    const shorter = shortLists(value, items) as JsonObject
    if (charsOf(shorter) <= MAX_ANSWER_CHARS) return shorter
  }
  return {
    too_long: `The answer has ${charsOf(value)} characters, more than ${MAX_ANSWER_CHARS}. Ask for less: fewer rows, fewer fields, no books.`,
    ...(value.price === undefined ? {} : { price: value.price }),
  }
}

function shortLists(value: unknown, items: number): unknown {
  if (typeof value === 'string' && value.length > MAX_TEXT_CHARS)
    return `${value.slice(0, MAX_TEXT_CHARS)}… (${value.length} characters)`
  if (Array.isArray(value)) {
    const kept = value.slice(0, items).map((item) => shortLists(item, items))
    return kept.length === value.length ? kept : [...kept, `… ${value.length - kept.length} more`]
  }
  if (typeof value !== 'object' || value === null || JSON.stringify(value)[0] !== '{') return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shortLists(member, items)]))
}

function charsOf(value: unknown): number {
  return JSON.stringify(value).length
}
