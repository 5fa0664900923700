/** Leases of simulated processes: those of the embedded engine, each call on its way for a while, and the fence. */
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { type Fence, LeaseLostError, type LeaseStore } from '../../src/store/leases.ts'
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

/** As in a store that several processes share: each write checks the lease, in one step with it. */
export function behindFence(
  store: EnvironmentStore,
  leases: LeaseStore | undefined,
  fence: Fence,
): EnvironmentStore {
  const isOurs = async () =>
    (await leases?.list())?.some(({ part, term }) => part === fence.part && term === fence.term)
  const write: EnvironmentStore['write'] = async (changes) => {
    if (!(await isOurs())) throw new LeaseLostError(fence)
    return store.write(changes)
  }
  return new Proxy(store, {
    get: (target, name) => (name === 'write' ? write : Reflect.get(target, name)),
  })
}
