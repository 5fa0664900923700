/** The tokens of the chain index. Writes run inside the transaction that applies or removes their block. */
import { acceptedRank } from '../chain/history-place.ts'
import { eventIds } from '../events/event-id.ts'
import {
  type RetractableEvent,
  type StoredToken,
  type TokenChange,
  type TokenEntry,
  type TokenHolder,
  tokenKey,
} from '../tokens.ts'
import { bytea } from './bytea.ts'
import { type Database, type Queries, statement } from './database.ts'
import { storable } from './texts.ts'

const PUT = statement(
  'token_put',
  `INSERT INTO token_entries (key, token, kind, place, value)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
    ON CONFLICT (key) DO UPDATE SET token = excluded.token, kind = excluded.kind, place = excluded.place,
      value = excluded.value`,
)
const REMOVE = statement('token_remove', 'DELETE FROM token_entries WHERE key = ANY($1::text[])')
const INSERT_UNDO = statement(
  'token_insert_undo',
  `INSERT INTO token_undo (rank, n, key, before)
    SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[], $4::text[])`,
)
/** The oldest entry of each key, which is its state before everything that is undone. */
const UNDONE = statement(
  'token_undone',
  'SELECT DISTINCT ON (key) key, before FROM token_undo WHERE rank >= $1::bigint ORDER BY key, rank, n',
)
const REMOVE_UNDO = statement('token_remove_undo', 'DELETE FROM token_undo WHERE rank >= $1::bigint')
const INSERT_EVENTS = statement(
  'token_insert_events',
  `INSERT INTO retractable_events (rank, seq, tail)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[])`,
)
const REMOVE_EVENTS = statement(
  'token_remove_events',
  'DELETE FROM retractable_events WHERE rank >= $1::bigint',
)
const FORGET = ['token_entries', 'token_undo'].map((table) =>
  statement(`${table}_forget`, `DELETE FROM ${table}`),
)
const ENTRIES = statement(
  'token_read',
  'SELECT key, token, kind, place, value FROM token_entries WHERE key = ANY($1::text[])',
)
const LOWEST = statement(
  'token_lowest',
  'SELECT min(blue_score) AS score FROM chain_blocks WHERE hash = ANY($1::bytea[])',
)
const REPLACED = statement(
  'token_replaced',
  `SELECT DISTINCT ON (key) key, before FROM token_undo WHERE key = ANY($1::text[]) AND rank >= $2::bigint
    ORDER BY key, rank, n`,
)
const LOG_NAME = statement('token_log_name', 'SELECT log_name AS "logName" FROM chain_state')
const EVENTS = statement(
  'token_events',
  'SELECT seq, tail FROM retractable_events WHERE rank >= $1::bigint ORDER BY seq DESC',
)
const TOKENS = statement(
  'token_page',
  `SELECT token, value FROM token_entries WHERE kind = 'token' AND token > $1 ORDER BY token LIMIT $2::int`,
)
const HOLDERS = statement(
  'token_holders',
  `SELECT key, place, value FROM token_entries
    WHERE token = $1 AND kind = 'holder' AND (place, key) < ($2, $3) ORDER BY place DESC, key DESC LIMIT $4::int`,
)
const OLDEST = `(SELECT min(blue_score) FROM chain_blocks WHERE id >= (SELECT chain_from FROM chain_state)) * 1048576`
/** Deletes what can no longer leave the chain. */
export const PRUNE_TOKENS = [
  statement(
    'token_prune_undo',
    `DELETE FROM token_undo WHERE (rank, n) IN
      (SELECT rank, n FROM token_undo WHERE rank < ${OLDEST} ORDER BY rank LIMIT $1::int)`,
  ),
  statement(
    'token_prune_events',
    `DELETE FROM retractable_events WHERE (rank, seq) IN
      (SELECT rank, seq FROM retractable_events WHERE rank < ${OLDEST} ORDER BY rank LIMIT $1::int)`,
  ),
]

export interface AppliedTokens {
  readonly rank: number
  readonly changes: readonly TokenChange[]
  readonly events: readonly { readonly seq: number; readonly tail: string }[]
}

export async function applyTokens(queries: Queries, applied: readonly AppliedTokens[]): Promise<void> {
  const events = applied.flatMap(({ rank, events: own }) => own.map((event) => ({ rank, ...event })))
  if (events.length > 0)
    await queries.run(INSERT_EVENTS, [
      events.map(({ rank }) => rank),
      events.map(({ seq }) => seq),
      events.map(({ tail }) => tail),
    ])
  const changes = applied.flatMap(({ rank, changes: own }) =>
    own.map((change, n) => ({ rank, n, ...change })),
  )
  if (changes.length === 0) return
  await queries.run(INSERT_UNDO, [
    changes.map(({ rank }) => rank),
    changes.map(({ n }) => n),
    changes.map(({ key }) => key),
    changes.map(({ before }) => before && JSON.stringify(before)),
  ])
  await putEntries(queries, new Map(changes.map(({ key, after }) => [key, after])))
}

/** Undoes the changes of chain blocks from this score on. */
export async function undoTokens(queries: Queries, blueScore: number): Promise<void> {
  const from = acceptedRank(blueScore, 0)
  const undone = await queries.rows<StoredUndo>(UNDONE, [from])
  await putEntries(queries, new Map(undone.map(({ key, before }) => [key, entryOf(before)])))
  await Promise.all([queries.run(REMOVE_UNDO, [from]), queries.run(REMOVE_EVENTS, [from])])
}

/** Retractable events stay, because what they reported may still have to be retracted. */
export async function forgetTokens(queries: Queries): Promise<void> {
  for (const forget of FORGET) await queries.run(forget)
}

async function putEntries(queries: Queries, entries: ReadonlyMap<string, TokenEntry | null>): Promise<void> {
  const removed = [...entries].flatMap(([key, entry]) => (entry === null ? [key] : []))
  const put = [...entries].flatMap(([key, entry]) => (entry === null ? [] : [{ key, ...entry }]))
  if (removed.length > 0) await queries.run(REMOVE, [removed])
  if (put.length > 0)
    await queries.run(PUT, [
      put.map(({ key }) => key),
      put.map(({ token }) => token),
      put.map(({ kind }) => kind),
      put.map(({ place }) => place),
      put.map(({ value }) => value),
    ])
}

interface StoredUndo {
  readonly key: string
  readonly before: string | null
}

function entryOf(before: string | null): TokenEntry | null {
  return before === null ? null : (JSON.parse(before) as TokenEntry)
}

async function lowestRank(queries: Queries, hashes: readonly string[]): Promise<number | undefined> {
  if (hashes.length === 0) return undefined
  const [found] = await queries.rows<{ score: number | null }>(LOWEST, [hashes.map(bytea)])
  const score = found?.score ?? null
  return score === null ? undefined : acceptedRank(score, 0)
}

export function tokenReader(database: Database) {
  return {
    async tokenEntries(
      keys: readonly string[],
      without: readonly string[],
    ): Promise<Map<string, TokenEntry>> {
      // An operation may name anything, but PostgreSQL stores no text with a NUL character.
      const known = keys.filter((key) => !key.includes('\0'))
      if (known.length === 0) return new Map()
      return database.snapshot(async (queries) => {
        const from = await lowestRank(queries, without)
        const rows = await queries.rows<TokenEntry & { key: string }>(ENTRIES, [known])
        const found = new Map(rows.map(({ key, ...entry }) => [key, entry as TokenEntry]))
        if (from === undefined) return found
        for (const { key, before } of await queries.rows<StoredUndo>(REPLACED, [known, from])) {
          const entry = entryOf(before)
          if (entry === null) found.delete(key)
          else found.set(key, entry)
        }
        return found
      })
    },
    async retractable(hashes: readonly string[]): Promise<RetractableEvent[]> {
      return database.snapshot(async (queries) => {
        const from = await lowestRank(queries, hashes)
        if (from === undefined) return []
        const [log] = await queries.rows<{ logName: string }>(LOG_NAME)
        const ids = eventIds(log?.logName ?? '')
        const rows = await queries.rows<{ seq: number; tail: string }>(EVENTS, [from])
        return rows.map(({ seq, tail }) => ({ eventId: ids.of(seq), tail }))
      })
    },
    async token(token: string): Promise<string | undefined> {
      return (await database.rows<{ value: string }>(ENTRIES, [[tokenKey(storable(token))]]))[0]?.value
    },
    async tokens({
      limit,
      after = '',
    }: {
      limit: number
      after?: string
    }): Promise<{ tokens: StoredToken[]; hasMore: boolean }> {
      const rows = await database.rows<StoredToken>(TOKENS, [storable(after), limit + 1])
      return { tokens: rows.slice(0, limit), hasMore: rows.length > limit }
    },
    async tokenHolders(query: {
      token: string
      limit: number
      after?: { readonly place: string; readonly key: string }
    }): Promise<{ holders: TokenHolder[]; hasMore: boolean }> {
      const { token, limit, after = { place: '~', key: '' } } = query
      const rows = await database.rows<TokenHolder>(HOLDERS, [
        storable(token),
        storable(after.place),
        storable(after.key),
        limit + 1,
      ])
      return { holders: rows.slice(0, limit), hasMore: rows.length > limit }
    },
  }
}
