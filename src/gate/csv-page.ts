/**
 * Renders a page as CSV, row by row. A long page takes several turns of the event loop, because rows with deep order
 * books are megabytes of text. Numbers, lists and objects are copied as the row spells them, not parsed and written
 * again.
 */
import type { ListAnswer } from '../contract/endpoint.ts'
import { csvField, csvLine, ROW_SEPARATOR } from '../contract/envelopes.ts'
import { type ContentHasher, contentHash, contentHasher } from '../kit/content-hash.ts'
import { eachMember } from '../kit/json-slices.ts'
import { isTurnSpent, nextTurn } from '../kit/time-slices.ts'

export interface CsvPage {
  readonly body: string | readonly Buffer[]
  readonly hash: string
}

/** How many long pages are rendered at once; each of them holds its rows and its text in memory. */
const MAX_LONG_PAGES = 4
let longPages = 0
const waiting: (() => void)[] = []

/** Returns a promise if the page takes more than this turn or has to wait for others. */
export function csvPage(rows: ListAnswer['rows'], columns: readonly string[]): CsvPage | Promise<CsvPage> {
  return longPages < MAX_LONG_PAGES ? makePage(rows, columns) : makeLater(rows, columns)
}

async function makeLater(rows: ListAnswer['rows'], columns: readonly string[]): Promise<CsvPage> {
  while (longPages >= MAX_LONG_PAGES) await new Promise<void>((resolve) => waiting.push(resolve))
  try {
    return await makePage(rows, columns)
  } finally {
    // Also needed after a short page, which never counted as a long one and so wakes nobody by itself.
    waiting.shift()?.()
  }
}

function makePage(rows: ListAnswer['rows'], columns: readonly string[]): CsvPage | Promise<CsvPage> {
  const lines = linesOf(bufferOf(rows), columns)
  const { text, isLast } = takeTurn(lines)
  const begin = csvLine(columns) + text
  return isLast ? { body: begin, hash: contentHash(begin) } : takeRest(begin, lines)
}

function bufferOf(rows: ListAnswer['rows']): Buffer {
  if (typeof rows === 'string') return Buffer.from(rows)
  const [first] = rows
  return first !== undefined && rows.length === 1 ? first : Buffer.concat(rows)
}

async function takeRest(begin: string, lines: Iterator<string, undefined>): Promise<CsvPage> {
  longPages++
  try {
    return await takeTurns(begin, lines)
  } finally {
    longPages--
    waiting.shift()?.()
  }
}

async function takeTurns(begin: string, lines: Iterator<string, undefined>): Promise<CsvPage> {
  const parts: Buffer[] = []
  const hasher = contentHasher()
  addPart(parts, hasher, begin)
  for (let isLast = false; !isLast; ) {
    await nextTurn()
    const turn = takeTurn(lines)
    addPart(parts, hasher, turn.text)
    isLast = turn.isLast
  }
  return { body: parts, hash: hasher.digest() }
}

function addPart(parts: Buffer[], hasher: ContentHasher, text: string): void {
  const part = Buffer.from(text)
  hasher.update(part)
  parts.push(part)
}

/** At least one line, and as many as fit into the turn. */
function takeTurn(lines: Iterator<string, undefined>): { text: string; isLast: boolean } {
  let text = ''
  for (;;) {
    const line = lines.next()
    if (line.done) return { text, isLast: true }
    text += line.value
    if (isTurnSpent()) return { text, isLast: false }
  }
}

const LINE_BREAK = 0x0a
const BEFORE_BREAK = ROW_SEPARATOR.length - 1

function* linesOf(rows: Buffer, columns: readonly string[]): Generator<string, undefined> {
  const places = new Map(columns.map((column, place) => [column, place]))
  for (let at = 0; at < rows.length; ) {
    const found = rows.indexOf(LINE_BREAK, at)
    const end = found < 0 ? rows.length : found - BEFORE_BREAK
    yield lineOf(rows.subarray(at, end), places)
    at = found < 0 ? rows.length : found + 1
  }
  return undefined
}

function lineOf(row: Buffer, places: ReadonlyMap<string, number>): string {
  const fields: string[] = new Array(places.size).fill('')
  const isObject = eachMember(row, (name, from, to) => {
    const place = places.get(name)
    if (place !== undefined) fields[place] = fieldOf(row.toString('utf8', from, to))
    return true
  })
  if (!isObject) throw new Error('a row is not a JSON object')
  return csvLine(fields)
}

/** Text that `JSON.stringify` could write differently: spaces, escapes, and members whose names are numbers. */
const MAY_BE_RESPELLED = /[\\\s]|"\d+":/

/** Converts the JSON text of a value to a CSV field. */
function fieldOf(text: string): string {
  const first = text[0]
  if (first === '"') return csvField(text.includes('\\') ? JSON.parse(text) : text.slice(1, -1))
  if (first === '[' || first === '{')
    return csvField(MAY_BE_RESPELLED.test(text) ? JSON.stringify(JSON.parse(text, keepDigits)) : text)
  return text === 'null' ? '' : text
}

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

/** Keeps the digits of amounts that are above 2^53 or have more digits than a double. */
function keepDigits(_name: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number') return value
  const digits = context?.source ?? ''
  return digits === '' || digits === String(value) ? value : rawJSON(digits)
}
