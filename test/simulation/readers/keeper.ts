/** Keeps a process running: it is killed, stopped and started again on the same files. */
import type { SimulatedProcess } from '../process.ts'
import type { VirtualTime } from '../virtual-time.ts'

interface Starting<S> {
  readonly process: SimulatedProcess
  readonly ready: Promise<S>
  closeFiles(): Promise<void>
}

const START_AGAIN_MS = 3_000

interface KeeperOptions<S> {
  start(number: number): Starting<S>
  readonly time: VirtualTime
  /** Called when it was killed, or stopped without writing everything. */
  readonly onDeath: () => void
  readonly note: (text: string) => void
}

export class Keeper<S extends { stop(): Promise<boolean> }> {
  readonly #options: KeeperOptions<S>
  readonly #reasons = new Set<object>()
  #running: { starting: Starting<S>; up: S | undefined; isEnding: boolean } | undefined
  #number = 0

  constructor(options: KeeperOptions<S>) {
    this.#options = options
  }

  get up(): S | undefined {
    return this.#running?.isEnding === false ? this.#running.up : undefined
  }

  get process(): SimulatedProcess | undefined {
    return this.#running?.starting.process
  }

  async begin(): Promise<void> {
    const starting = this.#options.start(++this.#number)
    const own = { starting, up: undefined as S | undefined, isEnding: false }
    this.#running = own
    own.up = await starting.ready
  }

  /** The returned function removes this reason for being down. */
  kill(): () => void {
    const reason = {}
    this.#reasons.add(reason)
    const own = this.#running
    if (own !== undefined) this.#die(own.starting)
    return () => this.#resume(reason)
  }

  stopCleanly(): () => void {
    const reason = {}
    this.#reasons.add(reason)
    const own = this.#running
    if (own?.up === undefined || own.isEnding) return () => this.#resume(reason)
    own.isEnding = true
    const { up, starting } = own
    const { process } = starting
    const ended = Promise.withResolvers<void>()
    const forget = process.onDeath(() => ended.resolve())
    const stop = async () => {
      const isWritten = await up.stop()
      if (process.isDead) return
      if (!isWritten) this.#options.onDeath()
      forget()
      process.kill()
      await starting.closeFiles()
      if (this.#running === own) this.#running = undefined
      ended.resolve()
    }
    // While the process is paused, the signal waits.
    process.reach(() => void stop())
    return () => void ended.promise.then(() => this.#resume(reason))
  }

  /** Pauses the process until the returned function is called. */
  pause(): () => void {
    const process = this.process
    process?.stop()
    return () => process?.goOn()
  }

  async end(): Promise<void> {
    this.#reasons.add({})
    const own = this.#running
    // A broken law ends the simulation in the middle of a fault.
    while (own?.starting.process.isStopped) own.starting.process.goOn()
    if (own?.up !== undefined && !own.isEnding) {
      own.isEnding = true
      await own.up.stop()
    }
    this.#running = undefined
    own?.starting.process.kill()
    await own?.starting.closeFiles()
  }

  #die({ process, closeFiles }: Starting<S>): void {
    this.#running = undefined
    this.#options.onDeath()
    process.kill()
    void closeFiles()
  }

  #resume(reason: object): void {
    this.#reasons.delete(reason)
    if (this.#reasons.size > 0 || this.#running !== undefined) return
    this.begin().catch((error: unknown) => {
      // Like a service that cannot start: it exits and is started again.
      this.#options.note(`the service could not start: ${String(error)}`)
      const end = this.kill()
      this.#options.time.after(START_AGAIN_MS, end)
    })
  }
}
