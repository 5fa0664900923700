/** Writes events to the log as an indexer would, in a separate process, and drops old ones on request. */

import { newEvent } from '../../../src/events/event.ts'
import type { ChainStores } from '../../../src/store/chain.ts'
import { appendEvents } from '../../../src/store/conformance/chain-engine.ts'
import type { NewEvent } from '../../../src/store/events.ts'
import type { Random } from '../random.ts'
import type { VirtualTime } from '../virtual-time.ts'
import { ADDRESSES, READER_NETWORK, WRITTEN_KINDS } from './world.ts'

export function startLogWriter(parts: {
  time: VirtualTime
  random: Random
  /** The store behind the simulated disk. */
  stores: ChainStores
  gapMs: number
  onWritten: (seq: number) => void
}) {
  const { time, random, stores } = parts
  let number = 0
  let isStopped = false
  let last: Promise<unknown> = Promise.resolve()

  function drawEvent(): NewEvent {
    number++
    const hash = number.toString(16).padStart(64, '0')
    const common = { network: READER_NETWORK, createdAtMs: time.nowMs }
    const kind = random.pick(WRITTEN_KINDS)
    if (kind === 'block_added') {
      const data = {
        hash,
        daa_score: BigInt(number),
        blue_score: BigInt(number),
        timestamp: '2026-03-14T04:00:00.000Z',
        transaction_ids: [],
      }
      return newEvent({ ...common, kind, data })
    }
    if (kind === 'virtual_daa_score_changed')
      return newEvent({ ...common, kind, data: { daa_score: BigInt(number) } })
    const address = random.pick(ADDRESSES)
    const data = {
      address,
      tx_id: hash,
      added: [],
      removed: [],
      daa_score: BigInt(number),
      retracted: false,
      retracts: null,
    }
    return newEvent({ ...common, kind, addresses: [address], data })
  }

  /** Writes one after the other; an event whose write failed is not written again, because only the log counts. */
  function write(count: number): void {
    const events = Array.from({ length: count }, drawEvent)
    last = last.then(() => appendEvents(stores.chain, events)).then(parts.onWritten, () => undefined)
  }

  const next = () => {
    time.after(Math.ceil(-Math.log(1 - random()) * parts.gapMs), () => {
      if (isStopped) return
      write(random.chance(0.1) ? random.int(2, 40) : 1)
      next()
    })
  }
  next()

  return {
    burst: write,
    stop() {
      isStopped = true
      return last
    },
  }
}
