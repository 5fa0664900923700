import { ActiveCounts } from '../kit/active-counts.ts'
import { addressGroup } from '../kit/ip-range.ts'

/**
 * The queue in front of the password hash. Few run at a time, because each takes 19 MiB and a core for a moment. A
 * known caller waits for at most as many unknown callers as known ones, and is never refused because of them; one
 * address cannot fill the queue for all others.
 */
const MAX_RUNNING = 2
const MAX_WAITING = { known: 64, other: 128 }
const MAX_WAITING_PER_ADDRESS = 4

/** For whom a hash is computed: the address, and whether the device or session is known. */
export interface HashCaller {
  readonly address: string
  readonly known: boolean
}

/** The message is for the caller. */
export class BusyError extends Error {
  override readonly name = 'BusyError'
}

const CROWDED = 'Too many people sign in at once. Try again in a moment.'

export type HashQueue = <T>(caller: HashCaller, work: () => Promise<T>) => Promise<T>

export function createHashQueue(): HashQueue {
  const waiting = { known: [] as (() => void)[], other: [] as (() => void)[] }
  const waitingOf = new ActiveCounts<string>()
  let running = 0
  let lastLine: keyof typeof waiting = 'other'

  /** The two lines take turns, so that a steady flow of known callers does not keep everybody else out. */
  function takeNext(): (() => void) | undefined {
    const other = lastLine === 'known' ? 'other' : 'known'
    if (waiting[other].length > 0) lastLine = other
    return waiting[lastLine].shift()
  }

  async function wait({ known, address }: HashCaller): Promise<void> {
    const line = known ? 'known' : 'other'
    const name = `${line} ${addressGroup(address)}`
    const isCrowd = address !== '' && waitingOf.of(name) >= MAX_WAITING_PER_ADDRESS
    if (isCrowd || waiting[line].length >= MAX_WAITING[line]) throw new BusyError(CROWDED)
    const leave = waitingOf.add(name)
    await new Promise<void>((resolve) => waiting[line].push(resolve))
    leave()
  }

  return async (caller, work) => {
    if (running < MAX_RUNNING) running++
    // A call that ends hands its slot over to the next.
    else await wait(caller)
    try {
      return await work()
    } finally {
      const next = takeNext()
      if (next === undefined) running--
      else next()
    }
  }
}
