/** Deletes old rows of book groups: whole groups before the border, and the older rows of groups at the border. */
import { decodeBlocks } from '../books/block.ts'
import { mergedRows, tailRowOf } from '../books/group.ts'
import { wholeBlock } from './books-fold.ts'
import { type GroupKey, groupKeys, nameOfGroup, READ_BLOCKS, spanBounds } from './books-groups.ts'
import { deleteGroups, type GroupState, READ_TAILS, STATE_COLUMNS, writeBlocks } from './books-tables.ts'
import { type Queries, statement } from './database.ts'

const BEFORE = statement(
  'groups_before',
  `SELECT ${STATE_COLUMNS} FROM book_groups g WHERE g.feed_id = $1 AND g.span < $2 ORDER BY g.span, g.instrument LIMIT $3`,
)
const AT_BORDER = statement(
  'groups_border',
  `SELECT ${STATE_COLUMNS} FROM book_groups g WHERE g.feed_id = $1 AND g.span = $2
      AND least(CASE WHEN g.rows > 0 THEN g.first_ts END, CASE WHEN g.waiting THEN g.tail_first END) < $3`,
)

/** Deletes up to `atMost` groups before the border; once none is left, it also cuts the groups at the border. */
export async function cutGroups(
  tx: Queries,
  feed: number,
  { olderThan, border, atMost }: { olderThan: number; border: number; atMost: number },
): Promise<{ deleted: number; more: boolean }> {
  const before = await tx.rows<GroupState>(BEFORE, [feed, border, atMost])
  let deleted = 0
  if (before.length > 0) {
    const rows = await rowsOf(
      tx,
      before.filter((state) => state.tail_rows > 0),
    )
    for (const state of before) deleted += rows.get(nameOfGroup(state))?.length ?? state.rows
    await deleteGroups(tx, before)
  }
  if (before.length === atMost) return { deleted, more: true }
  const cut = await tx.rows<GroupState>(AT_BORDER, [feed, border, olderThan])
  const rows = await rowsOf(tx, cut)
  const kept = cut.map((state) => {
    const all = rows.get(nameOfGroup(state)) ?? []
    const left = all.filter(({ ts }) => ts >= olderThan)
    deleted += all.length - left.length
    return { state, left }
  })
  const empty = kept.filter(({ left }) => left.length === 0).map(({ state }) => state)
  if (empty.length > 0) await deleteGroups(tx, empty)
  await writeBlocks(
    tx,
    kept.filter(({ left }) => left.length > 0).map(({ state, left }) => wholeBlock(state, left)),
  )
  return { deleted, more: false }
}

async function rowsOf(tx: Queries, groups: readonly GroupState[]) {
  if (groups.length === 0) return new Map<string, ReturnType<typeof mergedRows>>()
  const [blocks, tails] = await Promise.all([
    tx.rows<GroupKey & { data: Buffer }>(READ_BLOCKS, [...groupKeys(groups), ...spanBounds(groups)]),
    tx.rows<GroupKey>(READ_TAILS, groupKeys(groups)),
  ])
  const blocksOf = Map.groupBy(blocks, nameOfGroup)
  const tailsOf = Map.groupBy(tails, nameOfGroup)
  return new Map(
    groups.map((group) => {
      const name = nameOfGroup(group)
      const data = blocksOf.get(name)?.map((row) => row.data) ?? []
      const tail = (tailsOf.get(name) ?? []).map((row) => tailRowOf({ ...row }))
      return [name, mergedRows(decodeBlocks(data, group.span)?.rows() ?? [], tail)]
    }),
  )
}
