/** Metrics that belong to no environment: whether the parts are ready, and how far the ledger is behind. */
import type { Ledger } from '../accounts/ledger.ts'
import type { Metrics } from '../kit/metrics.ts'
import { readMetrics } from './part-metrics.ts'
import type { ReadinessProbe } from './parts.ts'

export function serviceMetrics(
  metrics: Metrics,
  {
    version,
    ledger,
    probes,
  }: { version: string; ledger: Pick<Ledger, 'backlog'>; probes: readonly ReadinessProbe[] },
): void {
  let asking: ReturnType<typeof timeProbes> | undefined
  const ask = () => {
    asking ??= timeProbes(probes).finally(() => {
      asking = undefined
    })
    return asking
  }
  readMetrics(
    metrics,
    {},
    {
      tapeline_info: { help: 'The version that runs: always 1.', read: () => [[{ version }, 1]] },
      tapeline_part_ready: {
        help: 'Whether a part of the service works, as /ready reports it.',
        read: async () => (await ask()).map(({ part, isReady }) => [{ part }, Number(isReady)]),
      },
      tapeline_part_probe_seconds: {
        help: 'How long a part took to say so; for a store, a small read.',
        read: async () => (await ask()).map(({ part, seconds }) => [{ part }, seconds]),
      },
      tapeline_ledger_unwritten_charges: {
        help: 'Charges that are not written yet.',
        read: () => [[{}, ledger.backlog().charges]],
      },
      tapeline_ledger_delay_seconds: {
        help: 'For how long charges could not be written: the age of the oldest, or the time without an answer of the store.',
        read: () => [[{}, ledger.backlog().delayMs / 1000]],
      },
    },
  )
}

/** Less than the time limit for reading a metric. */
const MAX_PROBE_MS = 3_000

function timeProbes(probes: readonly ReadinessProbe[]) {
  return Promise.all(
    probes.map(async ({ name, check }) => {
      const startedMs = performance.now()
      const isReady = await inTime(check())
      return { part: name, isReady, seconds: (performance.now() - startedMs) / 1000 }
    }),
  )
}

/** A part that does not answer in time is not ready. */
async function inTime(checking: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, MAX_PROBE_MS, false)
  })
  const checked = checking.then(
    () => true,
    () => false,
  )
  return Promise.race([checked, late]).finally(() => clearTimeout(timer))
}
