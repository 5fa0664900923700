/**
 * Limits how many reads that pause inside their transaction run at a time. Together they would advance one by one in
 * the turns of the thread and hold every connection meanwhile. A slot is taken before the connection. Samples take
 * long; pages of markets are mostly short and have separate slots, so that they do not wait for samples.
 */
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import type { SeriesQuery } from '../series.ts'
import { afterTurns } from './connections.ts'

const MAX_WAITING = 64
const MAX_WAIT_MS = 5_000
/** Shares of the connections; the rest is for reads of one statement. */
const SHARE_OF_SAMPLES = 1 / 3
const SHARE_OF_PAGES = 1 / 2

type InSlot = <R>(read: () => Promise<R>) => Promise<R>
export type InReadSlot = <R>(query: Pick<SeriesQuery, 'stepMs'>, read: () => Promise<R>) => Promise<R>

export function readSlots(poolSize: number): InReadSlot {
  const ofSamples = Math.ceil(SHARE_OF_SAMPLES * poolSize)
  const ofPages = Math.min(Math.ceil(SHARE_OF_PAGES * poolSize), poolSize - 1 - ofSamples)
  const samples = slots(ofSamples)
  // With two connections one stays free, and both kinds share the other.
  const pages = ofPages < 1 ? samples : slots(ofPages)
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
