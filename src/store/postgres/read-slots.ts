/**
 * Few at a time of the reads that rest inside their transaction: all of them together go on one by one in the turns of the
 * thread, and would hold every connection meanwhile. A slot is taken before the connection. Samples take long; pages of
 * markets are mostly short and have slots of their own, so that they do not wait for samples.
 */
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import type { SeriesQuery } from '../series.ts'
import { afterTurns } from './connections.ts'

const MAX_WAITING = 64
const MAX_WAIT_MS = 5_000
/** Of the connections. What is left is for reads of one statement. */
const SHARE_OF_SAMPLES = 1 / 3
const SHARE_OF_PAGES = 1 / 2

type InSlot = <R>(read: () => Promise<R>) => Promise<R>
export type InReadSlot = <R>(query: Pick<SeriesQuery, 'stepMs'>, read: () => Promise<R>) => Promise<R>

export function readSlots(poolSize: number): InReadSlot {
  const samples = slots(Math.ceil(SHARE_OF_SAMPLES * poolSize))
  const pages = slots(Math.ceil(SHARE_OF_PAGES * poolSize))
  return ({ stepMs }, read) => (stepMs === undefined ? pages : samples)(read)
}

function slots(count: number): InSlot {
  let free = count
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

  return async (read) => {
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
