/**
 * Few at a time of the samples, which rest inside their transaction: all of them together go on one by one in the turns of
 * the thread, and would hold every connection meanwhile. A slot is taken before the connection. Other pages are
 * mostly short, and would wait long for little: they take none.
 */
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import type { SeriesQuery } from '../series.ts'
import { afterTurns } from './connections.ts'

const MAX_WAITING = 64
const MAX_WAIT_MS = 5_000
/** Of the connections, for such reads. */
const SHARE = 1 / 3

export type InReadSlot = <R>(query: Pick<SeriesQuery, 'stepMs'>, read: () => Promise<R>) => Promise<R>

export function readSlots(poolSize: number): InReadSlot {
  let free = Math.ceil(SHARE * poolSize)
  const waiting = new Set<() => void>()

  const take = async (): Promise<void> => {
    if (free > 0) {
      free--
      return
    }
    if (waiting.size >= MAX_WAITING)
      throw new StoreUnavailableError('Too many long reads wait for their turn.')
    await new Promise<void>((resolve, reject) => {
      const cancel = afterTurns(MAX_WAIT_MS, () => {
        waiting.delete(next)
        reject(new StoreUnavailableError('Long reads take too long at the moment.'))
      })
      const next = () => {
        waiting.delete(next)
        cancel()
        resolve()
      }
      waiting.add(next)
    })
  }

  return async ({ stepMs }, read) => {
    if (stepMs === undefined) return read()
    await take()
    try {
      return await read()
    } finally {
      const [next] = waiting
      if (next === undefined) free++
      else next()
    }
  }
}
