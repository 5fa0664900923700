/** The followed chain. Its blocks have ascending ids; blocks of an earlier chain have ids below `chain_from`. */
import type { ChainBlock } from '../chain.ts'
import { bytea } from './bytea.ts'
import { type Queries, statement } from './database.ts'

const FOLLOWED = 'id >= (SELECT chain_from FROM chain_state)'
const COLUMNS = `encode(hash, 'hex') AS hash, blue_score AS "blueScore", daa_score AS "daaScore", time_ms AS "timeMs"`

const TIP = statement(
  'chain_tip',
  `SELECT ${COLUMNS} FROM chain_blocks WHERE ${FOLLOWED} ORDER BY id DESC LIMIT 1`,
)
const BELOW = statement(
  'chain_below',
  `SELECT ${COLUMNS} FROM chain_blocks
    WHERE ${FOLLOWED} AND id >= (SELECT max(id) FROM chain_blocks) - $1::bigint ORDER BY id LIMIT 1`,
)
/** Returns the block itself first. */
const FROM_HASH = statement(
  'chain_from_hash',
  `SELECT ${COLUMNS} FROM chain_blocks
    WHERE id >= (SELECT id FROM chain_blocks WHERE hash = $1 AND ${FOLLOWED}) ORDER BY id`,
)
const OF_HASHES = statement(
  'chain_of_hashes',
  `SELECT ${COLUMNS} FROM chain_blocks WHERE hash = ANY($1::bytea[]) AND ${FOLLOWED}`,
)
const START = statement(
  'chain_start',
  'UPDATE chain_state SET chain_from = (SELECT coalesce(max(id), 0) + 1 FROM chain_blocks)',
)
/** A block of an earlier chain may be followed again; it then gets a new id. */
const INSERT = statement(
  'chain_insert_blocks',
  `INSERT INTO chain_blocks (id, hash, blue_score, daa_score, time_ms)
    SELECT (SELECT coalesce(max(id), 0) FROM chain_blocks) + b.n, b.hash, b.blue_score, b.daa_score, b.time_ms
      FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[])
        WITH ORDINALITY AS b (hash, blue_score, daa_score, time_ms, n)
    ON CONFLICT (hash) DO UPDATE SET id = excluded.id
      WHERE chain_blocks.id < (SELECT chain_from FROM chain_state)`,
)
const REMOVE = statement(
  'chain_remove_blocks',
  `DELETE FROM chain_blocks WHERE hash = ANY($1::bytea[]) AND ${FOLLOWED}
    RETURNING encode(hash, 'hex') AS hash, blue_score AS "blueScore"`,
)

export async function checkpointOf(queries: Queries): Promise<ChainBlock | undefined> {
  return (await queries.rows<ChainBlock>(TIP))[0]
}

/** Returns those of the blocks that are on the followed chain. */
export function blocksOf(queries: Queries, hashes: readonly string[]): Promise<ChainBlock[]> {
  return queries.rows<ChainBlock>(OF_HASHES, [hashes.map(bytea)])
}

export function blockReader(queries: Queries) {
  return {
    checkpoint: () => checkpointOf(queries),
    async chainBlockBelow(steps: number): Promise<ChainBlock | undefined> {
      return (await queries.rows<ChainBlock>(BELOW, [steps]))[0]
    },
    async chainAbove(hash: string): Promise<ChainBlock[] | undefined> {
      const [itself, ...above] = await queries.rows<ChainBlock>(FROM_HASH, [bytea(hash)])
      return itself && above
    },
    async followed(hashes: readonly string[]): Promise<string[]> {
      if (hashes.length === 0) return []
      const found = new Set((await blocksOf(queries, hashes)).map(({ hash }) => hash))
      return hashes.filter((hash) => found.has(hash))
    },
  }
}

/** Appends blocks to the followed chain. */
export async function addBlocks(queries: Queries, blocks: readonly ChainBlock[]): Promise<void> {
  if (blocks.length === 0) return
  const added = await queries.run(INSERT, [
    blocks.map(({ hash }) => bytea(hash)),
    blocks.map(({ blueScore }) => blueScore),
    blocks.map(({ daaScore }) => daaScore),
    blocks.map(({ timeMs }) => timeMs),
  ])
  if (added !== blocks.length) throw new Error('a block is added that is in the followed chain already')
}

/** Deletes nothing, because that could be millions of rows; pruning deletes the earlier chain in steps. */
export async function startChainAt(queries: Queries, block: ChainBlock): Promise<void> {
  await Promise.all([queries.run(START), addBlocks(queries, [block])])
}

export async function removeBlocks(
  queries: Queries,
  hashes: readonly string[],
): Promise<Pick<ChainBlock, 'hash' | 'blueScore'>[]> {
  const removed = await queries.rows<Pick<ChainBlock, 'hash' | 'blueScore'>>(REMOVE, [hashes.map(bytea)])
  if (removed.length === hashes.length) return removed
  const found = new Set(removed.map(({ hash }) => hash))
  throw new Error(`block ${hashes.find((hash) => !found.has(hash))} is not in the followed chain`)
}
