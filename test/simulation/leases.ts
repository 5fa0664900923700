/** Leases of simulated processes: those of the embedded engine, with a delay for each call, and the fence. */
import { type Fence, LeaseLostError, type LeaseStore } from '../../src/store/leases.ts'
import { STORE_PARTS } from './disk.ts'
import type { SimulatedProcess } from './process.ts'
import type { VirtualTime } from './virtual-time.ts'

const MAX_CALL_MS = 10

export function leasesOf(process: SimulatedProcess, leases: LeaseStore, time: VirtualTime): LeaseStore {
  const random = process.random.stream('leases')
  const call = <R>(run: () => Promise<R>): Promise<R> => {
    const underWay = new Promise<void>((resolve) => {
      time.after(random.int(1, MAX_CALL_MS), resolve)
    })
    return process.isDead ? new Promise(() => {}) : process.outside(underWay.then(run))
  }
  return {
    take: (request) => call(() => leases.take(request)),
    renew: (fence, durationMs) => call(() => leases.renew(fence, durationMs)),
    release: (fence) => call(() => leases.release(fence)),
    list: () => call(() => leases.list()),
    close: async () => {},
  }
}

/** As in a store that several processes share: each write checks the lease atomically. */
export function behindFence<S extends object>(
  store: S,
  leases: LeaseStore | undefined,
  fence: Fence,
  isWrite: (name: string) => boolean,
): S {
  const isOurs = async () =>
    (await leases?.list())?.some(({ part, term }) => part === fence.part && term === fence.term)
  return aroundWrites(store, isWrite, async (write) => {
    if (!(await isOurs())) throw new LeaseLostError(fence)
    return write()
  })
}

/** Passes each write of a store to `run` instead of executing it. */
export function aroundWrites<S extends object>(
  store: S,
  isWrite: (name: string) => boolean,
  run: (write: () => Promise<unknown>) => Promise<unknown>,
): S {
  const wrap = (owner: object): object =>
    new Proxy(owner, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (STORE_PARTS.has(String(name))) return wrap(value as object)
        if (typeof value !== 'function' || !isWrite(String(name))) return value
        return (...args: unknown[]) => run(async () => value.apply(target, args))
      },
    })
  return wrap(store) as S
}
