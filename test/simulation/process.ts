/**
 * A simulated process: what the parts of the service inside it see of the world. After its death nothing calls back or
 * resolves again, so whatever its code still awaits never finishes, as with a real `kill -9`. While it is stopped
 * (`SIGSTOP`), everything that reaches it waits, but its clocks continue.
 */
import type { Clock } from '../../src/kit/clock.ts'
import type { Random } from './random.ts'
import type { VirtualTime } from './virtual-time.ts'

type Arrival = 'timer' | 'data'

export class SimulatedProcess {
  readonly name: string
  readonly clock: Clock
  readonly random: Random
  readonly #time: VirtualTime
  readonly #startedMs: number
  readonly #endings = new Set<() => void>()
  #skewMs = 0
  #isDead = false
  /** How many faults are stopping it. */
  #stops = 0
  /** What has reached it since it was stopped and has not been handled yet. */
  #held: { readonly kind: Arrival; readonly run: () => void }[] = []
  #timers = 0
  #openCalls = 0
  #awakeSinceMs: number

  constructor(name: string, time: VirtualTime, random: Random) {
    this.name = name
    this.#time = time
    this.#startedMs = time.nowMs
    this.#awakeSinceMs = time.nowMs
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

  get isStopped(): boolean {
    return this.#stops > 0
  }

  /** When it started or last continued. */
  get awakeSinceMs(): number {
    return this.#awakeSinceMs
  }

  /** Pending promises of the network and the disk. */
  get openCalls(): number {
    return this.#openCalls
  }

  /** Pending timers: an idle process always returns to the same number. */
  get timers(): number {
    return this.#timers
  }

  /** Sets the wall clock; pending timers are not affected. */
  setSkew(skewMs: number): void {
    this.#skewMs = skewMs
  }

  /** Calls `end` when the process dies, unless the returned function was called before. */
  onDeath(end: () => void): () => void {
    this.#endings.add(end)
    return () => this.#endings.delete(end)
  }

  kill(): void {
    if (this.#isDead) return
    this.#isDead = true
    this.#held = []
    for (const end of [...this.#endings]) end()
    this.#endings.clear()
  }

  /** The process stays stopped until `goOn` was called as often as `stop`. */
  stop(): void {
    this.#stops += 1
  }

  /** Handles what has arrived in the meantime, either sockets first or timers first. */
  goOn(): void {
    if (this.#stops === 0 || --this.#stops > 0) return
    this.#awakeSinceMs = this.#time.nowMs
    const first = this.random.pick<Arrival>(['timer', 'data'])
    const [early, late] = [true, false].map((isFirst) =>
      this.#held.filter(({ kind }) => (kind === first) === isFirst),
    )
    this.#held = [...(early ?? []), ...(late ?? [])]
    this.#handleNext()
  }

  /** Something from outside reaches the process. */
  reach(run: () => void, kind: Arrival = 'data'): void {
    if (this.#isDead) return
    if (this.#stops > 0 || this.#held.length > 0) this.#held.push({ kind, run })
    else run()
  }

  /** Handles one arrival after another, each with everything that follows from it. */
  #handleNext(): void {
    if (this.#stops > 0 || this.#isDead || this.#held.length === 0) return
    this.#time.after(0, () => {
      if (this.#stops > 0 || this.#isDead) return
      this.#held.shift()?.run()
      this.#handleNext()
    })
  }

  /** The promise of something outside the process: it never settles if the process dies before. */
  outside<T>(promise: Promise<T>): Promise<T> {
    this.#openCalls++
    return new Promise((resolve, reject) => {
      const settle = (end: () => void) =>
        this.reach(() => {
          this.#openCalls--
          end()
        })
      promise.then(
        (value) => settle(() => resolve(value)),
        (error) => settle(() => reject(error)),
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
    const cancelTimer = this.#time.after(ms, () =>
      this.reach(() => {
        if (isOver) return
        end()
        run()
      }, 'timer'),
    )
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
