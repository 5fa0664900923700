/**
 * Copies a store from one engine to the other.
 *
 *   begin ──▶ tables, batch by batch, each with its mark ──▶ derive ──▶ compare every part ──▶ finish
 *     ▲                        │ killed
 *     └────────────────────────┘ resumes after the last mark
 */
import { createHash, type Hash } from 'node:crypto'
import type { CopyDifference, CopyProgress } from '../maintain.ts'
import { type CopiedTable, keyOf, nameOfTable, partOf, rowText, tablesInCommon } from './copied-table.ts'
import type { CopySide, CopyTarget } from './copy-side.ts'

export interface CopyOptions {
  readonly source: CopySide
  readonly target: CopyTarget
  readonly onProgress: (progress: CopyProgress) => void
  /** Called after the rows are copied and before they are compared. */
  readonly copySecrets: () => Promise<void>
}

export interface CopyResult {
  readonly tables: number
  readonly rows: number
  /** The number of compared parts: days of feeds, and whole tables for the rest. */
  readonly parts: number
  /** Empty if the copy is identical; otherwise the target stays unfinished. */
  readonly differences: readonly CopyDifference[]
}

export async function copyStore(options: CopyOptions): Promise<CopyResult> {
  const { source, target, onProgress } = options
  const tables = tablesInCommon(await source.tables(), await target.tables())
  const marks = await target.begin(source.identity)
  let total = 0
  for (const table of tables) total += await source.count(table)
  let done = 0
  for (const table of tables) {
    const name = nameOfTable(table)
    const mark = marks.get(name)
    done += mark?.rows ?? 0
    if (mark?.isDone === true) continue
    await copyTable(table, options, {
      from: mark ?? { key: null, rows: 0 },
      onRows: (count) => {
        done += count
        onProgress({ step: 'copy', about: name, done, total })
      },
    })
  }
  await target.derive()
  await options.copySecrets()
  const compared = await compareTables(tables, options, total)
  await source.assertUnused()
  if (compared.differences.length === 0) await target.finish()
  return { tables: tables.length, ...compared }
}

async function copyTable(
  table: CopiedTable,
  { source, target }: CopyOptions,
  {
    from,
    onRows,
  }: {
    from: { readonly key: readonly (string | number | Uint8Array | null)[] | null; readonly rows: number }
    onRows: (count: number) => void
  },
): Promise<void> {
  let { key, rows } = from
  let writing: Promise<void> = Promise.resolve()
  for await (const batch of source.read(table, key ?? undefined)) {
    const last = batch.at(-1)
    if (last === undefined) continue
    // The next batch is read while this one is written.
    await writing
    key = keyOf(table, last)
    rows += batch.length
    writing = target.write(table, batch, { key, rows, isDone: false }).then(() => onRows(batch.length))
    writing.catch(() => {})
  }
  await writing
  await target.write(table, [], { key, rows, isDone: true })
}

interface Part {
  readonly rows: number
  readonly hash: string
}

async function compareTables(
  tables: readonly CopiedTable[],
  { source, target, onProgress }: CopyOptions,
  total: number,
): Promise<Omit<CopyResult, 'tables'>> {
  const differences: CopyDifference[] = []
  let [rows, parts] = [0, 0]
  for (const table of tables) {
    const name = nameOfTable(table)
    const onRows = (count: number) => {
      rows += count
      onProgress({ step: 'compare', about: name, done: rows, total })
    }
    const [ours, theirs] = await Promise.all([
      partsOf(source, table, onRows),
      partsOf(target, table, () => {}),
    ])
    parts += ours.size
    for (const part of new Set([...ours.keys(), ...theirs.keys()])) {
      const [a, b] = [ours.get(part), theirs.get(part)]
      if (a?.hash !== b?.hash || a?.rows !== b?.rows)
        differences.push({ table: name, part, sourceRows: a?.rows ?? 0, targetRows: b?.rows ?? 0 })
    }
  }
  return { rows, parts, differences }
}

/** The row count and SHA-256 of each part. */
async function partsOf(
  side: CopySide,
  table: CopiedTable,
  onRows: (count: number) => void,
): Promise<Map<string, Part>> {
  const partOfRow = partOf(table)
  const parts = new Map<string, Part>()
  let open: { part: string; rows: number; hash: Hash; texts: string[] } | undefined
  const close = () => {
    if (open === undefined) return
    open.hash.update(open.texts.join(''))
    parts.set(open.part, { rows: open.rows, hash: open.hash.digest('hex') })
    open = undefined
  }
  for await (const batch of side.read(table)) {
    for (const row of batch) {
      const part = partOfRow(row)
      if (open?.part !== part) {
        close()
        open = { part, rows: 0, hash: createHash('sha256'), texts: [] }
      }
      open.rows++
      open.texts.push(rowText(row))
    }
    open?.hash.update(open.texts.join(''))
    if (open !== undefined) open.texts = []
    onRows(batch.length)
  }
  close()
  return parts
}
