/**
 * A backfill from the command line if several processes share a store. The leader of the venue's recorder carries it
 * out. While nobody leads, the command takes the lease itself, for one day of the range at a time, so that a recorder
 * that starts in the meantime waits no longer than that, and is then asked for the rest.
 */
import { hostname } from 'node:os'
import { CommandError } from '../cli/command.ts'
import type { Environment } from '../core/environment.ts'
import { DAY_MS } from '../core/time.ts'
import type { BackfillResult, ManualBackfill } from '../ingest/shared/manual-backfill.ts'
import { type Clock, runEvery } from '../kit/clock.ts'
import type { EnvironmentStore } from '../store/environment.ts'
import { type Fence, LeaseLostError, type LeaseStore } from '../store/leases.ts'
import type { Stores } from '../store/stores.ts'
import { askForBackfill, type BackfillOrder, BackfillRefusedError, recordPart } from './backfill-requests.ts'

const LEASE_MS = 10_000
const RENEW_MS = 2_000
/** Longer than a process that wants to lead waits before it asks again. */
const HANDOVER_MS = 1_500

type Run = (
  order: BackfillOrder,
  parts: Pick<ManualBackfill, 'onProgress' | 'signal' | 'store'>,
) => Promise<BackfillResult>

export async function backfillShared({
  stores,
  environment,
  order,
  clock,
  onProgress,
  run,
}: {
  stores: Stores
  environment: Environment
  order: BackfillOrder
  clock: Clock
  onProgress: ManualBackfill['onProgress']
  /** Runs the backfill in this process. */
  run: Run
}): Promise<BackfillResult> {
  const part = recordPart(environment, order.source)
  const [leases, coordination] = [stores.leases(), stores.coordination()]
  const days = daysOf(order)
  let sum: BackfillResult = { ranges: 0, failed: 0, rowsInserted: 0, rowsCorrected: 0 }
  const isLed = async () => (await leases.list()).some((each) => each.part === part && each.leftMs > 0)
  try {
    for (let done = 0; done < days.length; ) {
      const [today] = days.slice(done)
      if (today === undefined) break
      const asked = {
        store: coordination,
        part,
        order: { ...order, fromMs: today.fromMs },
        clock,
        isLed,
        onProgress,
      }
      const byLeader = (await isLed()) ? await askForBackfill(asked) : undefined
      if (byLeader !== undefined) return added(sum, byLeader)
      const result = await withLease(leases, part, clock, async (fence, signal) => {
        const store = await stores.environment(environment, { fence })
        return ended(store, run({ ...order, ...today }, { signal, store, onProgress: ofDay(done) }))
      })
      if (result === undefined) continue
      sum = added(sum, result)
      done++
      if (done < days.length) await clock.sleep(HANDOVER_MS)
    }
    return sum
  } catch (error) {
    if (error instanceof BackfillRefusedError) throw new CommandError(error.message)
    throw error
  } finally {
    await Promise.all([leases.close(), coordination.close()])
  }

  function ofDay(day: number): ManualBackfill['onProgress'] {
    return ({ done, total, step }) =>
      onProgress({ done: day + (total === 0 ? 1 : done / total), total: days.length, step })
  }
}

/** Undefined if another process has the lease, or has taken it in the meantime. */
async function withLease<R>(
  leases: LeaseStore,
  part: string,
  clock: Clock,
  run: (fence: Fence, signal: AbortSignal) => Promise<R>,
): Promise<R | undefined> {
  const holder = `${hostname()}:${process.pid} backfill`
  const fence = await leases.take({ part, holder, durationMs: LEASE_MS })
  if (fence === undefined) return undefined
  const lost = new AbortController()
  const stopRenewing = runEvery(clock, RENEW_MS, () => {
    leases.renew(fence, LEASE_MS).then(
      (isOurs) => {
        if (!isOurs) lost.abort()
      },
      // Writes are refused once the lease has ended.
      () => {},
    )
  })
  try {
    const result = await run(fence, lost.signal)
    return lost.signal.aborted ? undefined : result
  } catch (error) {
    if (lost.signal.aborted || error instanceof LeaseLostError) return undefined
    throw error
  } finally {
    stopRenewing()
    await leases.release(fence).catch(() => {})
  }
}

async function ended<R>(store: EnvironmentStore, running: Promise<R>): Promise<R> {
  try {
    return await running
  } finally {
    await store.close()
  }
}

/** Whole days, because they are requested as such. */
function daysOf({ fromMs, toMs }: BackfillOrder): { fromMs: number; toMs: number }[] {
  const days: { fromMs: number; toMs: number }[] = []
  for (let from = Math.floor(fromMs / DAY_MS) * DAY_MS; from < toMs; from += DAY_MS)
    days.push({ fromMs: from, toMs: from + DAY_MS })
  return days
}

function added(a: BackfillResult, b: BackfillResult): BackfillResult {
  return {
    ranges: a.ranges + b.ranges,
    failed: a.failed + b.failed,
    rowsInserted: a.rowsInserted + b.rowsInserted,
    rowsCorrected: a.rowsCorrected + b.rowsCorrected,
  }
}
