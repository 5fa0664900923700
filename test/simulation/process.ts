/**
 * A simulated process: what the parts of the service inside it get of the world. After its death none of it calls back
 * or resolves again, so that whatever its code still awaits stays unfinished for ever, as with a real `kill -9`.
 */
import type { Clock } from '../../src/kit/clock.ts'
import type { Random } from './random.ts'
import type { VirtualTime } from './virtual-time.ts'

export class SimulatedProcess {
  readonly name: string
  readonly clock: Clock
  readonly random: Random
  readonly #time: VirtualTime
  readonly #startedMs: number
  readonly #endings = new Set<() => void>()
  #skewMs = 0
  #isDead = false
  #timers = 0

  constructor(name: string, time: VirtualTime, random: Random) {
    this.name = name
    this.#time = time
    this.#startedMs = time.nowMs
    this.random = random
    this.clock = {
      now: () => this.#time.nowMs + this.#skewMs,
      elapsed: () => this.#time.nowMs - this.#startedMs,
      after: (ms, run) => this.#after(ms, run),
      sleep: (ms, signal) => this.#sleep(ms, signal),
    }
  }

  get isDead(): boolean {
    return this.#isDead
  }

  /** Timers that wait: a process at rest has the same number again. */
  get timers(): number {
    return this.#timers
  }

  /** The wall clock is set; what waits is not affected. */
  setSkew(skewMs: number): void {
    this.#skewMs = skewMs
  }

  /** Calls `end` at the death, unless the returned function was called before. */
  onDeath(end: () => void): () => void {
    this.#endings.add(end)
    return () => this.#endings.delete(end)
  }

  kill(): void {
    if (this.#isDead) return
    this.#isDead = true
    for (const end of [...this.#endings]) end()
    this.#endings.clear()
  }

  /** The promise of something outside: it stays open for ever when the process is dead by then. */
  outside<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => this.#isDead || resolve(value),
        (error) => this.#isDead || reject(error),
      )
    })
  }

  #after(ms: number, run: () => void): () => void {
    if (this.#isDead) return () => {}
    this.#timers++
    let isOver = false
    const end = () => {
      if (isOver) return
      isOver = true
      this.#timers--
      this.#endings.delete(cancel)
    }
    const cancelTimer = this.#time.after(ms, () => {
      end()
      run()
    })
    const cancel = () => {
      cancelTimer()
      end()
    }
    this.#endings.add(cancel)
    return cancel
  }

  #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#isDead) return
      if (signal?.aborted) return reject(signal.reason)
      const onAbort = () => {
        cancel()
        reject(signal?.reason)
      }
      const cancel = this.#after(ms, () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      })
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }
}
