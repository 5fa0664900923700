/**
 * How long single inputs hold the event loop of the service, in processor time of its thread, so that the load of other
 * processes does not count. The service runs in this process, the sender in a separate thread.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { fillDeepBooks } from './deep-books.ts'
import { hostileInputs } from './hostile-inputs.ts'
import { startTestService } from './service.ts'
import { storesIn } from './stores.ts'

const DEEP_BOOKS = 500

export interface Hold {
  readonly name: string
  /** The longest turn of the loop in the best of several rounds, so that garbage collections do not count. */
  readonly ms: number
  readonly outcome: string
  readonly maxAnswerChars: number | undefined
}

/** An input whose first hold is short enough is not measured again. */
export async function measureHolds(seed: number, rounds: number, enoughMs = 0): Promise<Hold[]> {
  const service = await startTestService({
    env: { TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on', TAPELINE_BODY_LIMIT: '2097152' },
  })
  const key = await service.key()
  const store = await storesIn(service.folder).environment('test')
  await fillDeepBooks(store, DEEP_BOOKS, Date.now())
  await store.close()
  const network = 'testnet-10'
  const inputs = hostileInputs(seed, network)
  const client = new Worker(new URL('./hostile-client.ts', import.meta.url), {
    workerData: { url: service.url, key, seed, network },
  })
  try {
    const holds: Hold[] = []
    for (const [name, input] of Object.entries(inputs)) {
      let best = Number.POSITIVE_INFINITY
      let outcome = ''
      for (let round = 0; round < rounds && best > enoughMs; round++) {
        const stop = watchTurns()
        client.postMessage(name)
        const [answer] = (await once(client, 'message')) as [{ outcome: string }]
        best = Math.min(best, stop())
        outcome = answer.outcome
      }
      const maxAnswerChars = input.kind === 'request' ? input.maxAnswerChars : undefined
      holds.push({ name, ms: best, outcome, maxAnswerChars })
    }
    return holds
  } finally {
    await client.terminate()
    await service.stop()
  }
}

const LOOK_EVERY_MS = 1

/** Measures the thread's processor time in turns of the loop, a millisecond apart; returns the largest of one turn. */
export function watchTurns(): () => number {
  const now = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  }
  let longest = 0
  let last = now()
  let isOver = false
  const turn = () => {
    const at = now()
    longest = Math.max(longest, at - last)
    last = at
    if (!isOver) setTimeout(turn, LOOK_EVERY_MS)
  }
  setTimeout(turn, LOOK_EVERY_MS)
  return () => {
    turn()
    isOver = true
    return longest
  }
}
