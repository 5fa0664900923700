/**
 * The common form in which a store is copied from one engine to another. Both engines read and write every table in
 * this form, so the copy can be compared row by row however each engine stores it.
 *
 * There is no list of tables and columns: each engine derives them from its schema and names its deviations.
 * `tablesInCommon` refuses to copy while one engine has something that the other does not account for.
 */
import type { Environment } from '../../core/environment.ts'
import { DAY_MS } from '../../core/time.ts'

/** Numbers are integers except for dollar amounts; integers that can exceed 2^53 are strings (`isBig`). */
export type CopiedValue = number | string | Uint8Array | null
export type CopiedRow = readonly CopiedValue[]

/** A group of tables that are stored together. */
export interface Area {
  readonly label: 'accounts' | 'environment' | 'chain' | 'jobs'
  /** Undefined for accounts, which both environments share. */
  readonly environment: Environment | undefined
}

export interface CopiedTable {
  readonly area: Area
  readonly name: string
  readonly columns: readonly string[]
  /** The unique columns by which rows are ordered and found. */
  readonly key: readonly string[]
}

/** The engines' tables differ in something that their rules do not cover. */
class TablesDifferError extends Error {
  override readonly name = 'TablesDifferError'
}

export function nameOfTable({ area, name }: CopiedTable): string {
  return `${area.environment ?? 'shared'}/${name}`
}

const BIG = new Set([
  'address_rows.amount',
  'address_rows.received',
  'address_rows.sent',
  'covenant_outputs.amount',
  'transactions.fee',
])

export function isBig(table: string, column: string): boolean {
  return BIG.has(`${table}.${column}`)
}

/** Returns the source's tables after checking that the target has the same ones with the same columns. */
export function tablesInCommon(
  source: readonly CopiedTable[],
  target: readonly CopiedTable[],
): readonly CopiedTable[] {
  const describe = (table: CopiedTable) =>
    `${nameOfTable(table)} (${[...table.columns].sort().join(', ')} by ${table.key.join(', ')})`
  const [ours, theirs] = [new Set(source.map(describe)), new Set(target.map(describe))]
  const alone = [...ours]
    .filter((name) => !theirs.has(name))
    .concat([...theirs].filter((name) => !ours.has(name)))
  if (alone.length > 0) throw new TablesDifferError(`Only one engine has these tables: ${alone.join('; ')}`)
  return source
}

export function keyOf(table: CopiedTable, row: CopiedRow): CopiedValue[] {
  return table.key.map((column) => row[table.columns.indexOf(column)] ?? null)
}

const SPAN_MS = 600_000
const UNITS: Record<string, number> = { ts: 1, from_ts: 1, span: SPAN_MS }

/** The part of a table in which a row is compared: its feed and day if it has both, otherwise the whole table. */
export function partOf(table: CopiedTable): (row: CopiedRow) => string {
  const feed = table.columns.indexOf('feed_id')
  const [column, unit] = Object.entries(UNITS).find(([name]) => table.key.includes(name)) ?? []
  if (feed < 0 || column === undefined || unit === undefined) return () => ''
  const time = table.columns.indexOf(column)
  let [lastFeed, lastDay, part] = [-1, -1, '']
  return (row) => {
    const [id, day] = [row[feed] as number, Math.floor(((row[time] as number) * unit) / DAY_MS)]
    if (id !== lastFeed || day !== lastDay) {
      part = `feed ${id}, ${dayName(day)}`
      lastFeed = id
      lastDay = day
    }
    return part
  }
}

function dayName(day: number): string {
  const date = new Date(day * DAY_MS)
  return Number.isNaN(date.getTime()) ? `day ${day}` : date.toISOString().slice(0, 10)
}

/** A text that no other row has. */
export function rowText(row: CopiedRow): string {
  let text = ''
  for (const value of row) {
    if (value === null) text += '-'
    else if (typeof value === 'number') text += `${value};`
    else if (typeof value === 'string') text += `${value.length}:${value}`
    else text += `#${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')};`
  }
  return `${text}\n`
}

/** The approximate size in memory. */
export function sizeOfRow(row: CopiedRow): number {
  let size = 16
  for (const value of row) {
    if (typeof value === 'string') size += value.length
    else size += value instanceof Uint8Array ? value.byteLength : 8
  }
  return size
}

/** How much is written in one transaction. */
export const BATCH_ROWS = 5_000
export const BATCH_BYTES = 4 * 1024 * 1024
