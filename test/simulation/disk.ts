/**
 * The stores of a simulated process: the real ones, behind a disk that is slow and fails. An operation may fail before
 * its commit (full disk, I/O error) or after it (a failed fsync: done, but reported as failed); while the store is
 * away, reads fail too. What a dead process has begun may still be done, but nobody is notified.
 */
import { writeFailure } from '../../src/store/sqlite/write-failure.ts'
import type { SimulatedProcess } from './process.ts'
import type { Random } from './random.ts'
import type { VirtualTime } from './virtual-time.ts'

export interface DiskFault {
  readonly kind: 'full' | 'io' | 'fsync' | 'slow' | 'away'
  /** The share of operations that fail while the fault lasts. */
  readonly share: number
  readonly slowMs?: number
}

/**
 * A strike at one particular write: the process dies or the write fails, just before or just after the commit. A strike
 * between two writes that belong together can lose one of them, and random faults rarely hit that moment.
 */
export interface Strike {
  readonly when: 'before' | 'after'
  readonly what: 'kill' | 'fail'
  /** Only writes of the store with this name. */
  readonly store?: string | undefined
  /** Writes left until the strike, including the one that it hits. */
  left: number
  kill(process: SimulatedProcess): void
}

/** Properties of a store that are ports themselves. */
export const STORE_PARTS = new Set(['series', 'coverage', 'markets', 'chain', 'events'])

/** SQLite's own codes and texts. */
const ERRORS = {
  full: { errcode: 13, errstr: 'database or disk is full' },
  io: { errcode: 10, errstr: 'disk I/O error' },
  fsync: { errcode: 1034, errstr: 'disk I/O error' },
  away: { errcode: 14, errstr: 'unable to open database file' },
} as const

export type Disk = ReturnType<typeof createDisk>

export function createDisk(time: VirtualTime, random: Random) {
  const faults = new Set<DiskFault>()
  const strikes = new Set<Strike>()
  /** Writes that failed, in this order. */
  const failures: { readonly store: string | undefined; readonly atMs: number }[] = []
  const isHit = (kind: DiskFault['kind']) => {
    for (const fault of faults) if (fault.kind === kind && random.chance(fault.share)) return true
    return false
  }

  /** The error as a caller of the store sees it. */
  function writeFailed(kind: keyof typeof ERRORS, store: string | undefined): unknown {
    failures.push({ store, atMs: time.nowMs })
    return writeFailure(failure(kind), 'simulated')
  }

  function waitMs(): number {
    let ms = random() < 0.9 ? random() * 4 : random() * 60
    for (const { kind, slowMs = 0 } of faults) if (kind === 'slow') ms += random() * slowMs
    return Math.ceil(ms)
  }

  const pause = () => new Promise<void>((resolve) => time.after(waitMs(), resolve))

  function nextStrike(store: string | undefined): Strike | undefined {
    for (const strike of strikes) {
      if ((strike.store !== undefined && strike.store !== store) || --strike.left > 0) continue
      strikes.delete(strike)
      return strike
    }
    return undefined
  }

  async function hit(strike: Strike, process: SimulatedProcess, store: string | undefined): Promise<void> {
    if (strike.what === 'fail') throw writeFailed(strike.when === 'before' ? 'io' : 'fsync', store)
    // The code that reacts to the death must not run inside this write.
    time.turn(() => strike.kill(process))
    await new Promise(() => {})
  }

  /** `isWrite` says which operations change something: only those fail, and they are executed in the order of calls. */
  function behind<T extends object>(
    store: T,
    process: SimulatedProcess,
    isWrite: (name: string) => boolean,
    /** For strikes at one of several stores. Reads of a named store fail as those of a database server do. */
    title?: string,
  ): T {
    let last: Promise<unknown> = Promise.resolve()
    async function write(call: () => Promise<unknown>): Promise<unknown> {
      const before = last
      const done = Promise.withResolvers<void>()
      last = done.promise
      try {
        await before
        await pause()
        if (process.isDead) return
        for (const kind of ['full', 'io', 'away'] as const) if (isHit(kind)) throw writeFailed(kind, title)
        const strike = nextStrike(title)
        if (strike?.when === 'before') await hit(strike, process, title)
        const value = await call()
        if (strike !== undefined) await hit(strike, process, title)
        await pause()
        if (isHit('fsync')) throw writeFailed('fsync', title)
        return value
      } finally {
        done.resolve()
      }
    }
    const read = async (answer: Promise<unknown>) => {
      const value = await answer
      await pause()
      if (isHit('away')) throw title === undefined ? failure('away') : writeFailure(failure('away'), title)
      return value
    }
    const wrapped = new WeakMap<object, object>()
    const wrap = (owner: object): object => {
      const proxy = wrapped.get(owner) ?? behindProxy(owner)
      wrapped.set(owner, proxy)
      return proxy
    }
    const behindProxy = (owner: object): object =>
      new Proxy(owner, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name)
          if (typeof name === 'string' && STORE_PARTS.has(name)) return wrap(value as object)
          if (typeof value !== 'function' || typeof name !== 'string') return value
          return (...args: unknown[]) => {
            if (process.isDead) return new Promise(() => {})
            if (isWrite(name)) return process.outside(write(async () => value.apply(target, args)))
            const answer: unknown = value.apply(target, args)
            // Answers from memory are immediate, and closing does not wait for the disk.
            return answer instanceof Promise && name !== 'close' ? process.outside(read(answer)) : answer
          }
        },
      })
    return wrap(store) as T
  }

  return {
    behind,
    /** Whether a write of the store with this name failed between two instants. */
    hasFailed: (store: string, fromMs: number, toMs: number) =>
      (failures.findLast((each) => each.store === store && each.atMs <= toMs)?.atMs ??
        Number.NEGATIVE_INFINITY) >= fromMs,
    /** The returned function cancels the strike. */
    arm(strike: Strike): () => void {
      strikes.add(strike)
      return () => void strikes.delete(strike)
    },
    set(fault: DiskFault): () => void {
      faults.add(fault)
      return () => void faults.delete(fault)
    },
  }
}

function failure(kind: keyof typeof ERRORS): Error {
  const { errcode, errstr } = ERRORS[kind]
  return Object.assign(new Error(errstr), { code: 'ERR_SQLITE_ERROR', errcode, errstr })
}
