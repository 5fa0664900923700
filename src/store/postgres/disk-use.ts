import { ENVIRONMENTS } from '../../core/environment.ts'
import { DATASETS, type Dataset } from '../../core/feed.ts'
import { type DiskUse, type PartUse, type StorePart, shareOf } from '../disk-use.ts'
import type { PostgresAddress } from './address.ts'
import { connect, storeError } from './connection.ts'
import { schemaOf } from './open-database.ts'

/** The server knows the sizes of its files, so only the catalogue is read. */
const SIZES = `SELECT n.nspname AS schema, c.relname AS name, pg_total_relation_size(c.oid)::float8 AS bytes,
    greatest(c.reltuples, 0)::float8 AS rows
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'r' AND n.nspname = ANY ($1)`
/** The sizes of tables whose rows are on several servers. */
const SPREAD_SIZES = `SELECT n.nspname AS schema, c.relname AS name,
    citus_total_relation_size(c.oid, fail_on_error => false)::float8 AS bytes, 0::float8 AS rows
  FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'r' AND n.nspname = ANY ($1)`

interface TableSize {
  readonly schema: string
  readonly name: string
  readonly bytes: number
  readonly rows: number
}

export async function measureServer(address: PostgresAddress): Promise<DiskUse> {
  const environments = ENVIRONMENTS.map((name) => ({ name, schema: schemaOf(address, name) }))
  const schemas = [address.schema, ...environments.map(({ schema }) => schema)]
  try {
    const { client, isSpread } = await connect(address, [address.schema])
    try {
      const sizes = (await client.query<TableSize>(SIZES, [schemas])).rows
      if (isSpread) sizes.push(...(await client.query<TableSize>(SPREAD_SIZES, [schemas])).rows)
      const parts: PartUse[] = []
      for (const { name: environment, schema } of environments) {
        const tables = sizes.filter((table) => table.schema === schema)
        if (!tables.some(({ name }) => name === 'book_groups')) continue
        const inBlocks = (await client.query<{ part: Dataset; weight: number }>(blockRows(schema))).rows
        parts.push(...environmentParts(tables, inBlocks).map((part) => ({ environment, ...part })))
      }
      const own = sizes.filter((table) => table.schema === address.schema)
      parts.push({ environment: null, part: 'accounts', bytes: bytesOf(own), rows: null })
      // Only the server knows how much space autovacuum has freed.
      return { parts, reusableBytes: 0 }
    } finally {
      await client.end()
    }
  } catch (error) {
    throw storeError(error)
  }
}

/** Two datasets share the tables of blocks, so their bytes are divided by the number of rows. */
const blockRows = (schema: string) =>
  `SELECT f.dataset AS part, sum(g.rows)::float8 AS weight
    FROM "${schema}".feeds f JOIN "${schema}".book_groups g ON g.feed_id = f.id GROUP BY f.dataset`

const bytesOf = (tables: readonly TableSize[]) => tables.reduce((sum, { bytes }) => sum + bytes, 0)

function environmentParts(
  tables: readonly TableSize[],
  inBlocks: readonly { readonly part: Dataset; readonly weight: number }[],
): Omit<PartUse, 'environment'>[] {
  const byPart = Map.groupBy(tables, ({ name }) => partOf(name))
  const blocks = shareOf(inBlocks, bytesOf(byPart.get('blocks') ?? []))
  byPart.delete('blocks')
  const found = new Map<StorePart, { bytes: number; rows: number }>()
  for (const [part, own] of byPart)
    found.set(part as StorePart, { bytes: bytesOf(own), rows: own.reduce((sum, { rows }) => sum + rows, 0) })
  for (const { part, bytes, weight } of blocks) {
    const own = found.get(part) ?? { bytes: 0, rows: 0 }
    found.set(part, { bytes: own.bytes + bytes, rows: own.rows + weight })
  }
  return [...found]
    .filter(([, { bytes }]) => bytes > 0)
    .map(([part, { bytes, rows }]) => ({ part, bytes, rows: isDataset(part) ? Math.round(rows) : null }))
}

const isDataset = (part: string): part is Dataset => (DATASETS as readonly string[]).includes(part)

const OTHER = /^(feeds|coverage_spans|markets|market_identifiers|series_revisions)$/
const WEBHOOKS = /^(jobs|job_|subscriptions)/

function partOf(table: string): StorePart | 'blocks' {
  const dataset = DATASETS.find((each) => table === `series_${each}` || table.startsWith(`series_${each}_`))
  if (dataset !== undefined) return dataset
  if (table.startsWith('book_')) return 'blocks'
  if (OTHER.test(table)) return 'other'
  return WEBHOOKS.test(table) ? 'webhooks' : 'chain'
}
