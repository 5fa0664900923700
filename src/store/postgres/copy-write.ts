/** Writes a batch of copied rows and its mark in one transaction. */
import type { Client } from 'pg'
import type { Dataset } from '../../core/feed.ts'
import type { CopiedRow, CopiedValue } from '../copy/copied-table.ts'
import { eventIds } from '../events/event-id.ts'
import { SERIES_ROWS, type StoredTable } from './copy-tables.ts'
import { BLOCKS, partitionsOf, seriesTable } from './partitions.ts'

const SPAN_MS = 600_000

export interface CopyWrite {
  /** The dataset of each feed. */
  readonly feeds: ReadonlyMap<number, Dataset>
  /** The partitions known to exist. */
  readonly partitions: Set<string>
  readonly marks: string
  readonly mark: readonly [name: string, text: string]
}

export async function writeRows(
  client: Client,
  table: StoredTable,
  rows: readonly CopiedRow[],
  { feeds, partitions, marks, mark }: CopyWrite,
): Promise<void> {
  const pieces = piecesOf(table, rows, feeds)
  await addPartitions(client, table, pieces, partitions)
  const sent: Promise<unknown>[] = [client.query('BEGIN')]
  const send = (text: string, values: unknown[]) => void sent.push(client.query({ text, values }))
  if (rows.length > 0) {
    if (table.numbered !== undefined) writeNumbers(table, rows, send)
    else if (table.name === 'chain_state') writeState(table, rows, send)
    else if (table.name === 'events') writeEvents(table, rows, await logName(client, sent), send)
    else for (const [name, own] of pieces) insert(table, own, name, send)
  }
  send(`INSERT INTO ${marks} VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, [
    ...mark,
  ])
  sent.push(client.query('COMMIT'))
  const results = await Promise.allSettled(sent)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed === undefined) return
  await client.query('ROLLBACK').catch(() => {})
  throw failed.reason
}

type Send = (text: string, values: unknown[]) => void

/** Groups rows by the table in which they are stored. */
function piecesOf(
  table: StoredTable,
  rows: readonly CopiedRow[],
  feeds: ReadonlyMap<number, Dataset>,
): Map<string, readonly CopiedRow[]> {
  if (table.name !== SERIES_ROWS) return new Map([[table.name, rows]])
  const feed = table.columns.indexOf('feed_id')
  return Map.groupBy(rows, (row) => {
    const dataset = feeds.get(row[feed] as number)
    if (dataset === undefined) throw new Error(`rows of a feed ${row[feed]} that is not there`)
    return seriesTable(dataset)
  })
}

async function addPartitions(
  client: Client,
  table: StoredTable,
  pieces: ReadonlyMap<string, readonly CopiedRow[]>,
  known: Set<string>,
): Promise<void> {
  if (table.name !== SERIES_ROWS && table.name !== BLOCKS) return
  const [column, unit] = table.name === BLOCKS ? ['span', SPAN_MS] : ['ts', 1]
  const index = table.columns.indexOf(column as string)
  const needed = new Map(
    [...pieces].map(([name, rows]) => [name, rows.map((row) => (row[index] as number) * (unit as number))]),
  )
  for (const { table: parent, name, low, high } of partitionsOf(needed)) {
    const place = `${table.schema}.${name}`
    if (known.has(place)) continue
    await client.query('SELECT add_partition($1, $2, $3, $4)', [parent, name, low, high])
    known.add(place)
  }
}

function insert(table: StoredTable, rows: readonly CopiedRow[], into: string, send: Send): void {
  const { columns, rule } = table
  const values = columns.map((_, index) => columnOf(rows, index))
  const sources = values.map(({ isLines }, i) => arrayType(table, columns[i] as string, i + 1, isLines))
  const own = Object.entries(rule.written ?? {})
  const selected = columns.map((column) => {
    const kind = table.kinds.get(column)
    if (kind === 'bytes') return `decode(${column}, 'hex')`
    return kind === 'boolean' ? `${column}::int::boolean` : column
  })
  const target = [...columns, ...own.map(([column]) => column)].map((column) => `"${column}"`)
  send(
    `INSERT INTO ${into} (${target.join()}) OVERRIDING SYSTEM VALUE
      SELECT ${[...selected, ...own.map(([, value]) => value)].join()}
        FROM unnest(${sources.join()}) AS i (${columns.map((column) => `"${column}"`).join()})
      ON CONFLICT DO NOTHING`,
    values.map(({ value }) => value),
  )
}

/** A column of many rows as one parameter. Texts without line breaks are joined by them: arrays are slow to parse. */
function columnOf(rows: readonly CopiedRow[], index: number): { value: unknown; isLines: boolean } {
  const first = rows.find((row) => row[index] !== null)?.[index]
  if (typeof first === 'number')
    return { value: `{${rows.map((row) => row[index] ?? 'NULL').join()}}`, isLines: false }
  const texts = rows.map((row) => textOf(row[index] ?? null))
  const joined = texts.join('\n')
  const isLines = joined !== '' && texts.every((text) => text !== null && !text.includes('\n'))
  return isLines ? { value: joined, isLines } : { value: texts, isLines: false }
}

function textOf(value: CopiedValue): string | null {
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')
  return value === null ? null : String(value)
}

function arrayType(table: StoredTable, column: string, parameter: number, isLines: boolean): string {
  const kind = table.kinds.get(column)
  if (kind === 'big' && isLines) return `string_to_array($${parameter}::text, E'\\n')::bigint[]`
  if (isLines) return `string_to_array($${parameter}::text, E'\\n')`
  if (kind === 'bytes' || kind === 'text') return `$${parameter}::text[]`
  if (kind === 'boolean') return `$${parameter}::int[]`
  return `$${parameter}::${table.types.get(column)}[]`
}

function writeNumbers({ schema, numbered }: StoredTable, rows: readonly CopiedRow[], send: Send): void {
  for (const [, newest] of rows)
    send('SELECT setval(pg_get_serial_sequence($1, $2), $3)', [
      `${schema}.${numbered?.table}`,
      numbered?.column,
      newest,
    ])
}

/** The single row exists from the beginning with another log name, so it is updated. */
function writeState({ columns }: StoredTable, rows: readonly CopiedRow[], send: Send): void {
  const set = columns.map((column, index) => `${column} = $${index + 1}`).join(', ')
  for (const row of rows) send(`UPDATE chain_state SET ${set}`, [...row])
}

async function logName(client: Client, sent: Promise<unknown>[]): Promise<string> {
  const found = client.query<{ log_name: string }>('SELECT log_name FROM chain_state')
  sent.push(found)
  return (await found).rows[0]?.log_name ?? ''
}

function writeEvents(table: StoredTable, rows: readonly CopiedRow[], log: string, send: Send): void {
  const ids = eventIds(log)
  const [seq, tail, addresses] = ['seq', 'tail', 'addresses'].map((column) =>
    table.columns.indexOf(column),
  ) as [number, number, number]
  const sized = rows.map((row): CopiedRow => {
    const size = ids.headOf(row[seq] as number).length + String(row[tail]).length
    return [...row, size]
  })
  const withSize: StoredTable = {
    ...table,
    columns: [...table.columns, 'size'],
    kinds: new Map([...table.kinds, ['size', 'number']]),
    types: new Map([...table.types, ['size', 'int']]),
  }
  insert(withSize, sized, 'events', send)
  const places = rows.flatMap((row) =>
    [...new Set(String(row[addresses]).split(' '))]
      .filter((address) => address !== '')
      .map((address) => ({ address, seq: row[seq] as number })),
  )
  if (places.length === 0) return
  send(
    'INSERT INTO event_addresses (address, seq) SELECT * FROM unnest($1::text[], $2::bigint[]) ON CONFLICT DO NOTHING',
    [places.map(({ address }) => address), places.map((place) => place.seq)],
  )
}
