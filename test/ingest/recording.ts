/** A recording of the simulated exchanges over real sockets, on a clock that the test controls. */
import type { Source } from '../../src/core/source.ts'
import type { AssetSymbol } from '../../src/core/symbol.ts'
import type { AuditOptions } from '../../src/ingest/audit/audit.ts'
import { recordExchange } from '../../src/ingest/exchange/record-exchange.ts'
import { type Supervisor, supervise } from '../../src/ingest/supervise.ts'
import type { Clock } from '../../src/kit/clock.ts'
import { createLogger } from '../../src/kit/log.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { VENUES } from '../../src/venues/list.ts'
import type { LiveOptions } from '../../src/venues/venue.ts'
import { storesIn } from '../fakes/stores.ts'
import { startTestExchanges, type TestExchanges } from '../sandbox/start.ts'

export type SandboxVenue = 'spot' | 'futures' | 'perp'
type ExchangeName = 'binance-spot' | 'binance-futures' | 'hyperliquid'

export const EXCHANGES: Record<SandboxVenue, { name: ExchangeName; source: Source }> = {
  spot: { name: 'binance-spot', source: 'cexa' },
  futures: { name: 'binance-futures', source: 'cexa_futures' },
  perp: { name: 'hyperliquid', source: 'perpdex' },
}

export type Addresses = Pick<TestExchanges, SandboxVenue>

export interface World<C extends Clock = Clock> {
  readonly clock: C
  readonly sandbox: TestExchanges
  close(): Promise<void>
}

export async function startWorld<C extends Clock>(clock: C): Promise<World<C>> {
  const sandbox = await startTestExchanges({ seed: 7, clock, tickMs: 100 })
  return { clock, sandbox, close: () => sandbox.close() }
}

export interface Recording {
  readonly store: EnvironmentStore
  readonly supervisor: Supervisor
  /** Stops the recorders; the store stays open. */
  stop(): Promise<void>
  close(): Promise<void>
}

export async function startRecording(
  world: { clock: Clock; sandbox: Addresses },
  options: {
    venues?: readonly SandboxVenue[]
    symbols?: readonly AssetSymbol[]
    backfill?: boolean
    backfillFromMs?: number
    /** Of the store; without one it is in memory. */
    folder?: string
    maxSilenceMs?: LiveOptions['maxSilenceMs']
    /** Whether the recorders check themselves, as in the service. */
    audit?: AuditOptions
  } = {},
): Promise<Recording> {
  const { clock } = world
  const store = await storesIn(options.folder ?? ':memory:', clock).environment('test', { holdMs: 25 })
  const log = createLogger({ level: process.env.TAPELINE_LOG_LEVEL ?? 'silent' })
  const recorders = (options.venues ?? (['spot', 'futures', 'perp'] as const)).map((venue) => {
    const { name } = EXCHANGES[venue]
    const plan = VENUES[name].plan
    return recordExchange({
      plan,
      venue: VENUES[name].create({
        clock,
        hosts: { rest: world.sandbox[venue].restUrl, stream: world.sandbox[venue].wsUrl },
      }),
      store,
      clock,
      random: Math.random,
      log,
      symbols: options.symbols ?? ['BTC'],
      backfill: options.backfill ?? false,
      ...(options.backfillFromMs === undefined ? {} : { backfillFromMs: options.backfillFromMs }),
      ...(options.audit === undefined ? {} : { audit: options.audit }),
      ...(options.maxSilenceMs === undefined ? {} : { maxSilenceMs: options.maxSilenceMs }),
    })
  })
  const supervisor = supervise({ recorders, coverage: store.coverage, clock, random: Math.random, log })
  const stop = () => supervisor.close()
  return {
    store,
    supervisor,
    stop,
    async close() {
      await stop()
      await store.close()
    },
  }
}
