/** Writes the rows of book_groups with their blocks and tails. */
import { randomInt } from 'node:crypto'
import { type GroupKey, groupKeys, KEYS, ON_KEY, spanBounds } from './books-groups.ts'
import { arrayOf, hexLinesOf, lines } from './columns.ts'
import { type Queries, statement } from './database.ts'

const MAX_VERSION = 2 ** 48 - 1

export const STATE_COLUMNS = `g.feed_id AS feed, g.span, g.instrument, g.blocks, g.rows, g.first_ts, g.last_ts, g.tail_rows,
    g.tail_first, g.tail_last`
export const READ_TAILS = statement(
  'tails',
  `SELECT t.feed_id AS feed, t.span, t.instrument, t.ts, t.seq, t.recorded_at, t.text, t.sides
    FROM ${KEYS} JOIN book_tail t ON ${ON_KEY('t')}`,
)
const CLEAR_TAILS = statement('tails_clear', `DELETE FROM book_tail t USING ${KEYS} WHERE ${ON_KEY('t')}`)
const CLEAR_BLOCKS = statement(
  'blocks_clear',
  `DELETE FROM book_blocks b USING ${KEYS} WHERE ${ON_KEY('b')} AND b.span BETWEEN $4::bigint AND $5::bigint`,
)
const PUT_BLOCKS = statement(
  'blocks_put',
  `INSERT INTO book_blocks (feed_id, span, instrument, part, data)
    SELECT feed_id, span, coalesce(instrument, ''), part, decode(data, 'hex')
      FROM unnest($1::bigint[], $2::bigint[], ${lines('$3')}, $4::int[], ${lines('$5')})
        AS i (feed_id, span, instrument, part, data)
    ON CONFLICT (feed_id, span, instrument, part) DO UPDATE SET data = excluded.data`,
)
const PUT_GROUPS = statement(
  'groups_put',
  `INSERT INTO book_groups AS g (feed_id, span, instrument, version, blocks, rows, first_ts, last_ts, waiting, tail_rows,
        tail_first, tail_last)
    SELECT feed_id, span, coalesce(instrument, ''), version, blocks, rows, first_ts, last_ts, tail_rows > 0, tail_rows,
        tail_first, tail_last
      FROM unnest($1::bigint[], $2::bigint[], ${lines('$3')}, $4::bigint[], $5::int[], $6::bigint[], $7::bigint[],
          $8::bigint[], $9::int[], $10::bigint[], $11::bigint[])
        AS i (feed_id, span, instrument, version, blocks, rows, first_ts, last_ts, tail_rows, tail_first, tail_last)
    ON CONFLICT (feed_id, span, instrument) DO UPDATE
      SET version = CASE WHEN excluded.version = 0 THEN g.version ELSE excluded.version END, blocks = excluded.blocks,
        rows = excluded.rows, first_ts = excluded.first_ts, last_ts = excluded.last_ts, waiting = excluded.waiting,
        tail_rows = excluded.tail_rows, tail_first = excluded.tail_first, tail_last = excluded.tail_last`,
)
const DELETE_GROUPS = statement(
  'groups_delete',
  `DELETE FROM book_groups g USING ${KEYS} WHERE ${ON_KEY('g')}`,
)

export interface GroupState extends GroupKey {
  readonly blocks: number
  /** The number of rows in the blocks; the next two are their first and last times, with first above last if empty. */
  readonly rows: number
  readonly first_ts: number
  readonly last_ts: number
  readonly tail_rows: number
  readonly tail_first: number
  readonly tail_last: number
}

export interface TailRow extends GroupKey {
  readonly ts: number
  readonly seq: number
  readonly recorded_at: number
  readonly text: string
  readonly sides: Buffer
}

/** Version 0 keeps the stored version, because the blocks have not changed. */
export async function putGroups(
  tx: Queries,
  states: readonly (GroupState & { readonly version: number })[],
): Promise<void> {
  const column = (of: (state: GroupState & { readonly version: number }) => number) => arrayOf(states.map(of))
  await tx.run(PUT_GROUPS, [
    ...groupKeys(states),
    column(({ version }) => version),
    column(({ blocks }) => blocks),
    column(({ rows }) => rows),
    column(({ first_ts }) => first_ts),
    column(({ last_ts }) => last_ts),
    column(({ tail_rows }) => tail_rows),
    column(({ tail_first }) => tail_first),
    column(({ tail_last }) => tail_last),
  ])
}

/** The new content of a group. */
export interface Fold {
  readonly parts: readonly { readonly part: number; readonly data: Uint8Array }[]
  /** Whether the parts replace all stored blocks of the group. */
  readonly isWhole: boolean
  readonly state: GroupState
}

export async function writeBlocks(tx: Queries, folds: readonly Fold[]): Promise<void> {
  if (folds.length === 0) return
  const states = folds.map(({ state }) => state)
  const whole = folds.filter(({ isWhole }) => isWhole).map(({ state }) => state)
  const parts = folds.flatMap(({ state, parts }) => parts.map((part) => ({ ...part, state })))
  const done: Promise<unknown>[] = [tx.run(CLEAR_TAILS, groupKeys(states))]
  if (whole.length > 0) done.push(tx.run(CLEAR_BLOCKS, [...groupKeys(whole), ...spanBounds(whole)]))
  if (parts.length > 0)
    done.push(
      tx.run(PUT_BLOCKS, [
        ...groupKeys(parts.map(({ state }) => state)),
        arrayOf(parts.map(({ part }) => part)),
        hexLinesOf(parts.map(({ data }) => data)),
      ]),
    )
  done.push(
    putGroups(
      tx,
      states.map((state) => ({ ...state, version: 1 + randomInt(MAX_VERSION) })),
    ),
  )
  await Promise.all(done)
}

export async function deleteGroups(tx: Queries, groups: readonly GroupKey[]): Promise<void> {
  await Promise.all([
    tx.run(CLEAR_TAILS, groupKeys(groups)),
    tx.run(CLEAR_BLOCKS, [...groupKeys(groups), ...spanBounds(groups)]),
    tx.run(DELETE_GROUPS, groupKeys(groups)),
  ])
}
