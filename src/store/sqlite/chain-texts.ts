/**
 * The served texts of transactions, by row id.
 *
 *   put ──▶ transaction_texts ──TAIL_TEXTS newer ones──▶ transaction_blocks (BLOCK_TEXTS each, compressed)
 *
 * A text that changes after it was packed goes back into a row and stays there; rows take precedence over blocks.
 */
import type { DatabaseSync } from 'node:sqlite'
import { Lru } from '../../kit/lru.ts'
import { packTexts, unpackTexts } from './packed-texts.ts'

/** More than usually wait for acceptance, so that few texts change after they were packed. */
const TAIL_TEXTS = 512
const BLOCK_TEXTS = 64
/** About 2 MB of text. */
const CACHED_BLOCKS = 32

/** Everything but `read` may only be called inside a write transaction. */
export function transactionTexts(database: DatabaseSync) {
  const row = database.prepare('SELECT parsed FROM transaction_texts WHERE tx = ?')
  const block = database.prepare(
    'SELECT last_tx, body FROM transaction_blocks WHERE last_tx >= ? ORDER BY last_tx LIMIT 1',
  )
  const lastPacked = database.prepare('SELECT max(last_tx) AS tx FROM transaction_blocks')
  const put = database.prepare('INSERT OR REPLACE INTO transaction_texts VALUES (?, ?)')
  const newest = database.prepare('SELECT max(tx) AS tx FROM transaction_texts')
  const unpacked = database.prepare(
    'SELECT tx, parsed FROM transaction_texts WHERE tx > ? AND tx <= ? ORDER BY tx LIMIT ?',
  )
  const removeRows = database.prepare('DELETE FROM transaction_texts WHERE tx > ? AND tx <= ?')
  const insertBlock = database.prepare('INSERT INTO transaction_blocks VALUES (?, ?)')
  const remove = database.prepare('DELETE FROM transaction_texts WHERE tx = ?')
  const dropBlocks = database.prepare('DELETE FROM transaction_blocks WHERE last_tx < ?')
  const cache = new Lru<number, Map<number, string>>({ maxEntries: CACHED_BLOCKS })

  const packedUpTo = () => Number(lastPacked.get()?.tx ?? 0)

  function read(tx: number): string | undefined {
    const own = row.get(tx)
    if (own !== undefined) return String(own.parsed)
    const packed = block.get(tx)
    if (packed === undefined) return undefined
    const key = Number(packed.last_tx)
    const texts = cache.get(key) ?? toMap(unpackTexts(packed.body))
    cache.set(key, texts)
    return texts.get(tx)
  }

  return {
    read,
    put(tx: number, parsed: string): void {
      if (tx > packedUpTo() || read(tx) !== parsed) put.run(tx, parsed)
    },
    /** Packs the texts that are no longer new. */
    pack(): void {
      const upTo = Number(newest.get()?.tx ?? 0) - TAIL_TEXTS
      // Runs with every write, so the texts are only read when there may be enough of them.
      for (let from = packedUpTo(); upTo - from >= BLOCK_TEXTS; ) {
        const rows = unpacked.all(from, upTo, BLOCK_TEXTS)
        const last = rows.at(-1)
        if (last === undefined || rows.length < BLOCK_TEXTS) return
        insertBlock.run(
          Number(last.tx),
          packTexts(rows.flatMap(({ tx, parsed }) => [String(tx), String(parsed)])),
        )
        removeRows.run(from, Number(last.tx))
        from = Number(last.tx)
      }
    },
    remove: (tx: number) => void remove.run(tx),
    /** Drops the blocks that hold only transactions below this one. */
    dropBlocksBelow: (tx: number) => void dropBlocks.run(tx),
    /** Called after a rollback, which also undoes newly packed blocks. */
    forget: () => cache.clear(),
  }
}

export type TransactionTexts = ReturnType<typeof transactionTexts>

function toMap(texts: readonly string[]): Map<number, string> {
  const map = new Map<number, string>()
  for (let at = 0; at + 1 < texts.length; at += 2) map.set(Number(texts[at]), texts[at + 1] as string)
  return map
}
