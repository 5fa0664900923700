/**
 * The light rows of a block as columns, one per field of their JSON. A column is
 *
 *   constant   one value for all rows
 *   derived    computed from the row's time, books and source, by the field's name
 *   changing   stored only in rows where the value differs from the row before
 *
 * A form is chosen only if it reproduces the written text exactly. Rows that do not share their fields are stored as
 * one changing column of whole texts.
 */
import { complement, microText, middleText } from '../../core/micro.ts'
import type { MicroSide } from '../../core/micro-book.ts'
import { IMBALANCE_DEPTH } from '../../core/rows/snapshot.ts'
import type { Source } from '../../core/source.ts'
import { formatTime } from '../../core/time.ts'
import { type BookRow, imbalanceOf } from './book-row.ts'
import type { VarintReader, VarintWriter } from './bytes.ts'

const [CONSTANT, DERIVED, CHANGING] = [0, 1, 2]
const WHOLE_TEXT = ''

/** `source` is the row's own source field, as JSON text. */
type Derive = (row: Pick<BookRow, 'ts' | 'sides'>, source: string) => string

const SOURCE_FIELD = 'source'

const best = (sides: readonly MicroSide[], side: number): number | undefined => {
  if (side < sides.length) return sides[side]?.prices[0]
  const price = sides[side === 2 ? 1 : 0]?.prices[0]
  return price === undefined ? undefined : complement(price)
}
const top =
  (side: number): Derive =>
  ({ sides }) => {
    const price = best(sides, side)
    return price === undefined ? 'null' : microText(price)
  }
const ofBoth =
  (text: (bid: number, ask: number) => string): Derive =>
  ({ sides }) => {
    const [bid, ask] = [sides[0]?.prices[0], sides[1]?.prices[0]]
    return bid === undefined || ask === undefined ? 'null' : text(bid, ask)
  }

const DERIVATIONS: Readonly<Record<string, Derive>> = {
  timestamp: ({ ts }) => `"${formatTime(ts)}"`,
  best_bid: top(0),
  best_ask: top(1),
  mid_price: ofBoth(middleText),
  spread: ofBoth((bid, ask) => microText(ask - bid)),
  imbalance: (row, source) => imbalanceOf(row, IMBALANCE_DEPTH[source.slice(1, -1) as Source]),
  yes_bid: top(0),
  yes_ask: top(1),
  no_bid: top(2),
  no_ask: top(3),
}

export function writeFields(rows: readonly BookRow[], into: VarintWriter): void {
  const { names, columns } = split(rows)
  const sources = columns[names.indexOf(SOURCE_FIELD)] ?? []
  into.number(names.length)
  for (const [at, name] of names.entries()) {
    into.text(name)
    const derive = DERIVATIONS[name]
    const derived = derive && ((index: number) => derive(rows[index] as BookRow, sources[index] ?? ''))
    writeColumn(columns[at] ?? [], derived, into)
  }
}

/** The values of the rows, field by field. */
function split(rows: readonly BookRow[]): { names: string[]; columns: string[][] } {
  const [first] = rows
  const names = first === undefined ? undefined : fieldsOf(first.text)?.names
  if (names !== undefined) {
    const columns = names.map(() => [] as string[])
    const labels = names.map((name) => `"${name}":`)
    if (rows.every(({ text }) => splitInto(text, labels, columns))) return { names, columns }
  }
  return { names: [WHOLE_TEXT], columns: [rows.map(({ text }) => text)] }
}

/** Adds the values of a flat JSON object with exactly these fields; false if it has others. */
function splitInto(text: string, labels: readonly string[], columns: readonly string[][]): boolean {
  let end = 0
  for (let field = 0; field < labels.length; field++) {
    const label = labels[field] ?? ''
    if (text[end] !== (field === 0 ? '{' : ',') || !text.startsWith(label, end + 1)) return false
    const from = end + 1 + label.length
    end = valueEnd(text, from)
    if (end < 0) return false
    columns[field]?.push(text.slice(from, end))
  }
  return text[end] === '}' && end === text.length - 1
}

function writeColumn(
  values: readonly string[],
  derived: ((index: number) => string) | undefined,
  into: VarintWriter,
): void {
  const [first = ''] = values
  if (values.every((value) => value === first)) {
    into.number(CONSTANT)
    into.text(first)
  } else if (derived !== undefined && values.every((value, index) => derived(index) === value)) {
    into.number(DERIVED)
  } else {
    const changes: number[] = []
    for (let index = 0; index < values.length; index++)
      if (index === 0 || values[index] !== values[index - 1]) changes.push(index)
    into.number(CHANGING)
    into.number(changes.length)
    let before = 0
    for (const index of changes) {
      into.number(index - before)
      before = index
    }
    for (const index of changes) into.text(values[index] ?? '')
  }
}

type Column =
  | { kind: 'constant'; value: string }
  | { kind: 'derived'; derive: Derive }
  | { kind: 'changing'; rows: number[]; values: string[] }

export interface FieldColumns {
  /** Returns texts of rows, whose indexes must ascend from call to call. */
  walk(): (index: number, row: Pick<BookRow, 'ts' | 'sides'>) => string
}

export function readFields(from: VarintReader): FieldColumns {
  const columns = Array.from({ length: from.number() }, () => {
    const name = from.text()
    return { name, column: readColumn(name, from) }
  })
  const sourceAt = columns.findIndex(({ name }) => name === SOURCE_FIELD)
  return {
    walk() {
      const places = columns.map(() => 0)
      const cellOf = (
        at: number,
        column: Column | undefined,
        index: number,
        row: Pick<BookRow, 'ts' | 'sides'>,
      ): string => {
        if (column === undefined) return ''
        if (column.kind === 'constant') return column.value
        if (column.kind === 'derived')
          return column.derive(row, cellOf(sourceAt, columns[sourceAt]?.column, index, row))
        let place = places[at] ?? 0
        while ((column.rows[place + 1] ?? Number.POSITIVE_INFINITY) <= index) place++
        places[at] = place
        return column.values[place] ?? ''
      }
      return (index, row) => {
        let text = ''
        for (let at = 0; at < columns.length; at++) {
          const entry = columns[at]
          if (entry === undefined) continue
          const value = cellOf(at, entry.column, index, row)
          if (entry.name === WHOLE_TEXT) return value
          text += `${at === 0 ? '{' : ','}"${entry.name}":${value}`
        }
        return `${text}}`
      }
    },
  }
}

function readColumn(name: string, from: VarintReader): Column {
  const kind = from.number()
  if (kind === CONSTANT) return { kind: 'constant', value: from.text() }
  if (kind === DERIVED) {
    const derive = DERIVATIONS[name]
    if (derive === undefined) throw new RangeError(`a block derives ${name}, which nothing gives`)
    return { kind: 'derived', derive }
  }
  let row = 0
  const rows = Array.from({ length: from.number() }, () => {
    row += from.number()
    return row
  })
  return { kind: 'changing', rows, values: rows.map(() => from.text()) }
}

/** Splits a flat JSON object into fields, keeping their text; undefined for anything else. */
export function fieldsOf(text: string): { names: string[]; values: string[] } | undefined {
  const names: string[] = []
  const values: string[] = []
  let at = 1
  if (text[0] !== '{') return undefined
  for (;;) {
    if (text[at] !== '"') return undefined
    const nameEnd = text.indexOf('"', at + 1)
    if (text[nameEnd + 1] !== ':') return undefined
    const from = nameEnd + 2
    const to = valueEnd(text, from)
    const next = text[to]
    if (next !== ',' && next !== '}') return undefined
    names.push(text.slice(at + 1, nameEnd))
    values.push(text.slice(from, to))
    if (next === '}') return to === text.length - 1 ? { names, values } : undefined
    at = to + 1
  }
}

/** Where a string, number or word ends; -1 for a list or an object. */
function valueEnd(text: string, from: number): number {
  return text[from] === '"' ? stringEnd(text, from) : plainEnd(text, from)
}

function stringEnd(text: string, from: number): number {
  let end = text.indexOf('"', from + 1)
  if (end > 0 && text[end - 1] !== '\\') return end + 1
  end = from + 1
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1
  return end + 1
}

function plainEnd(text: string, from: number): number {
  let end = from
  while (end < text.length && text[end] !== ',' && text[end] !== '}') {
    if (text[end] === '[' || text[end] === '{') return -1
    end++
  }
  return end
}
