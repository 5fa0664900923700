/**
 * A staggered race: start one try; start the next when a running one fails, or (hedging) when it has been
 * slow for `hedgeAfterMs`. The first accepted outcome wins and the others are told to stop. Without
 * `hedgeAfterMs` it is plain retry: one try at a time.
 */
export interface RaceOptions<T> {
  /** The next try, or undefined when there is none left. `hedging`: another try is still running. */
  next(hedging: boolean): ((signal: AbortSignal) => Promise<T>) | undefined
  accept(outcome: T): boolean
  hedgeAfterMs?: number | undefined
  signal?: AbortSignal | undefined
}

export interface RaceResult<T> {
  /** undefined: no try was accepted, or the signal came first */
  winner: T | undefined
  /** What did not win, in the order of its arrival. */
  losers: T[]
}

/** One reason for all: an abort without one builds an exception with a stack each time. */
const OVER = new Error('the race is over')

export function race<T>(options: RaceOptions<T>): Promise<RaceResult<T>> {
  const { promise, resolve, reject } = Promise.withResolvers<RaceResult<T>>()
  const stop = new AbortController()
  const losers: T[] = []
  let running = 0
  let over = false
  let timer: NodeJS.Timeout | undefined

  function finish(winner: T | undefined): void {
    if (over) return
    over = true
    clearTimeout(timer)
    options.signal?.removeEventListener('abort', onAbort)
    if (running > 0) stop.abort(OVER)
    resolve({ winner, losers })
  }
  const onAbort = () => finish(undefined)

  function start(hedging: boolean): void {
    clearTimeout(timer)
    const attempt = options.next(hedging)
    if (attempt === undefined) {
      if (running === 0) finish(undefined)
      return
    }
    running++
    attempt(stop.signal).then(
      (outcome) => {
        running--
        if (over) return
        if (options.accept(outcome)) return finish(outcome)
        losers.push(outcome)
        start(running > 0)
      },
      (error) => {
        over = true
        clearTimeout(timer)
        stop.abort(OVER)
        reject(error)
      },
    )
    if (options.hedgeAfterMs !== undefined) timer = setTimeout(() => start(true), options.hedgeAfterMs)
  }

  if (options.signal?.aborted) return Promise.resolve({ winner: undefined, losers })
  options.signal?.addEventListener('abort', onAbort, { once: true })
  start(false)
  return promise
}
