/** The write function of the port: rows are checked and encoded on the calling thread, then sent to the writer. */
import type { Feed } from '../../core/feed.ts'
import { encodeMarket } from '../../core/rows/market.ts'
import { RowError } from '../../core/rows/row-error.ts'
import type { Clock } from '../../kit/clock.ts'
import {
  type EnvironmentStore,
  type EnvironmentWrite,
  RowsRefusedError,
  type WriteResult,
} from '../environment.ts'
import { type EncodedRows, encodeBatch } from '../rows/encode.ts'
import type { EncodedWrite, EnvironmentOperations } from './environment-operations.ts'
import type { Writer } from './group-commit.ts'

type Rest = Pick<EncodedWrite, 'coverage' | 'finalize' | 'markets'>

const NO_REST: Rest = { coverage: [], finalize: [], markets: [] }

async function resultOf(
  sent: Promise<ReturnType<EnvironmentOperations['write']>>,
  places: readonly { feed: Feed; firstIndex: number }[],
): Promise<WriteResult> {
  const result = await sent
  if (!('refused' in result)) return result
  throw new RowsRefusedError(
    result.refused.flatMap(({ pack, index, reason }) => {
      const place = places[pack]
      if (place === undefined) return []
      return [{ feed: place.feed, index: place.firstIndex + index, error: new RowError('row', reason) }]
    }),
  )
}

export function environmentWrite(parts: {
  writer: Writer<EnvironmentOperations>
  clock: Clock
  holdMs: number
}): EnvironmentStore['write'] {
  const { writer, clock, holdMs } = parts
  /** Keeps writes in the order of their calls on the way to the writer. */
  let turn: Promise<unknown> = Promise.resolve()

  const send = (encoded: readonly EncodedRows[], rest: Rest): Promise<WriteResult> => {
    const rows = encoded.map(({ packed }) => packed)
    const weight = rows.reduce(
      (sum, packed) => sum + packed.count,
      rest.coverage.length + rest.markets.length,
    )
    const sent = writer.call('write', [{ rows, recordedAt: clock.now(), ...rest }], { weight })
    // Only the places are kept until the reply, so that the packed rows can be freed.
    const places = encoded.map(({ packed: { feed }, firstIndex }) => ({ feed, firstIndex }))
    return resultOf(sent, places)
  }

  const sendAll = async (write: EnvironmentWrite): Promise<Promise<WriteResult>[]> => {
    const { rows = [], coverage = [], finalize = [], markets = [] } = write
    const rest: Rest = { coverage, finalize, markets: markets.map(encodeMarket) }
    const { transactions, refused } = await encodeBatch(rows, holdMs)
    if (refused.length > 0) throw new RowsRefusedError(refused)
    const sent: Promise<WriteResult>[] = []
    const last = transactions.pop() ?? []
    for (const encoded of [...transactions, last]) {
      // Coverage must not be written if the rows before it were not.
      if (encoded === last) await Promise.all(sent)
      await writer.ready()
      const written = send(encoded, encoded === last ? rest : NO_REST)
      written.catch(() => undefined)
      sent.push(written)
    }
    return sent
  }

  return async (write) => {
    const sent = turn.then(() => sendAll(write))
    turn = sent.catch(() => undefined)
    const results = await Promise.all(await sent)
    return results.reduce((sum, each) => ({
      inserted: sum.inserted + each.inserted,
      unchanged: sum.unchanged + each.unchanged,
      rewritten: sum.rewritten + each.rewritten,
      corrected: sum.corrected + each.corrected,
      markets: sum.markets + each.markets,
    }))
  }
}
