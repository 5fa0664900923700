/** The simulated prediction venues and chain of a part, on a simulated network where each host has its own name. */
import type { SandboxPredictionsOptions } from '../../sandbox/predictions/run.ts'
import type { FaultSpec, FaultVenue } from '../../sandbox/server/faults.ts'
import { PREDICTION_FAULTS } from '../../sandbox/server/faults.ts'
import type { Listen } from '../../sandbox/server/transport.ts'
import type { Fetch } from '../../src/venues/rest/http.ts'
import { startTestPredictions, type TestPredictions } from '../sandbox/start.ts'
import { watchBudget } from './budget.ts'
import { beginNetworkFault, beginVenueFault, NETWORK_FAULTS } from './common-faults.ts'
import type { SimulatedProcess } from './process.ts'
import type { FaultKind, ScheduledFault } from './schedule.ts'
import type { Surroundings } from './simulation.ts'

export const PROVIDERS = 3
/** In the order in which the sandbox begins to listen. */
const LISTENERS = [
  ...['gamma', 'clob', 'data', 'ws', 'rtds', 'kalshi'],
  ...Array.from({ length: PROVIDERS }, (_, index) => `node ${index}`),
]

export interface PredictionSurroundings {
  readonly sandbox: TestPredictions
  /** Like that of the network, but also remembers what the venue refused without a fault. */
  fetchFor(process: SimulatedProcess): Fetch
  /** Law 5. */
  refusals(): string[]
  /** Begins faults of the network and of the venue; undefined for all others. */
  begin(fault: ScheduledFault): (() => void) | undefined
}

export async function startPredictionWorld(
  { network, time }: Surroundings,
  venue: FaultVenue,
  /** The hosts that the venue has. */
  hosts: readonly string[],
  options: Omit<SandboxPredictionsOptions, 'listen'>,
): Promise<PredictionSurroundings> {
  let listeners = 0
  const listen: Listen = (endpoint, port) =>
    network.listenAs(LISTENERS[listeners++] ?? 'unknown')(endpoint, port)
  const sandbox = await startTestPredictions({ ...options, providers: PROVIDERS, listen })
  const { faults } = sandbox
  const budget = watchBudget(network, faults, time)

  return {
    sandbox,
    fetchFor: budget.fetchFor,
    refusals: () => [...budget.refusals()],
    begin(fault) {
      const { host, ...settings } = fault.settings
      if (NETWORK_FAULTS.some(({ kind }) => kind === fault.kind)) {
        const concerned = typeof host === 'string' ? [host] : hosts
        const ends = concerned.map((server) => beginNetworkFault(network, server, { ...fault, settings }))
        return () => {
          for (const end of ends) end?.()
        }
      }
      return Object.hasOwn(PREDICTION_FAULTS, fault.kind) ? beginVenueFault(faults, venue, fault) : undefined
    },
  }
}

/** Half of the faults of the network concern one host only. */
export const networkFaultsOf = (hosts: readonly string[]): FaultKind[] =>
  NETWORK_FAULTS.map((each) => ({
    ...each,
    settings: (random) => ({
      ...each.settings?.(random),
      ...(random.chance(0.5) ? { host: random.pick(hosts) } : {}),
    }),
  }))

export const venueFault = (
  kind: FaultSpec['kind'],
  weight: number,
  durationMs: FaultKind['durationMs'],
  settings?: FaultKind['settings'],
): FaultKind => ({ kind, weight, durationMs, ...(settings === undefined ? {} : { settings }) })
