/**
 * The simulated exchanges and prediction venues as a process or a worker thread. They run together because they share
 * one world: the prediction markets ask about the prices of the exchanges.
 *
 *   node sandbox/markets.ts [--world exchanges|predictions] --seed 1 [--trades-per-second 3] [--slot-ms 100]
 *        [--providers 3] [--spot-port 0] … [--kalshi-port 0] … [--exchanges-control-port 0] [--until-stdin-ends]
 *
 * A process writes one line of JSON with the addresses when it is ready and ends on SIGTERM, SIGINT or the end of its
 * standard input (with --until-stdin-ends). A thread takes `MarketsOptions` as its data, posts the addresses, and ends
 * on the message "close".
 */
import { parseArgs } from 'node:util'
import { isMainThread, workerData } from 'node:worker_threads'
import { lowerPriority, SANDBOX_NICE } from '../src/kit/lower-priority.ts'
import { type SandboxExchanges, type SandboxOptions, startSandboxExchanges } from './exchanges/run.ts'
import { EXCHANGE_VENUES } from './exchanges/world/markets.ts'
import {
  PREDICTION_PORTS,
  type SandboxPredictions,
  type SandboxPredictionsOptions,
  startSandboxPredictions,
} from './predictions/run.ts'
import { announce, readNumber, startAll } from './server/announce.ts'

const WORLDS = ['exchanges', 'predictions'] as const

interface MarketsOptions {
  readonly seed: number
  readonly tradesPerSecond?: number
  /** Both if omitted. */
  readonly world?: (typeof WORLDS)[number]
  readonly exchanges?: Partial<SandboxOptions>
  readonly predictions?: Partial<SandboxPredictionsOptions>
}

export interface MarketsReady {
  readonly ready: true
  readonly exchanges?: Pick<SandboxExchanges, 'spot' | 'futures' | 'perp' | 'controlUrl'>
  readonly predictions?: Pick<SandboxPredictions, 'polymarket' | 'kalshi' | 'ethereum' | 'controlUrl'>
}

function readArguments(): { options: MarketsOptions; untilStdinEnds: boolean } {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    options: {
      ...Object.fromEntries([...EXCHANGE_VENUES, ...PREDICTION_PORTS].map((name) => [`${name}-port`, text])),
      'exchanges-control-port': text,
      'predictions-control-port': text,
      world: text,
      seed: text,
      'trades-per-second': text,
      'slot-ms': text,
      providers: text,
      'until-stdin-ends': { type: 'boolean' },
    },
  })
  const given = values as Record<string, string | undefined>
  const number = (name: string, fallback = 0) => readNumber(name, given[name], fallback)
  const world = WORLDS.find((name) => name === values.world)
  if (values.world !== undefined && world === undefined)
    throw new RangeError(`--world must be one of ${WORLDS.join(', ')}`)
  const ports = (names: readonly string[], of: string) => ({
    ...Object.fromEntries(names.map((name) => [name, number(`${name}-port`)])),
    control: number(`${of}-control-port`),
  })
  return {
    options: {
      seed: number('seed', 1),
      tradesPerSecond: number('trades-per-second', 3),
      ...(world === undefined ? {} : { world }),
      exchanges: { ports: ports(EXCHANGE_VENUES, 'exchanges') },
      predictions: {
        slotMs: number('slot-ms', 100),
        providers: number('providers', 3),
        ports: ports(PREDICTION_PORTS, 'predictions'),
      },
    },
    untilStdinEnds: values['until-stdin-ends'] === true,
  }
}

lowerPriority(SANDBOX_NICE)
const { options, untilStdinEnds } = isMainThread
  ? readArguments()
  : { options: workerData as MarketsOptions, untilStdinEnds: false }
const { seed, tradesPerSecond, world } = options
const rate = tradesPerSecond === undefined ? {} : { tradesPerSecond }
const sandbox = await startAll(async (keep): Promise<MarketsReady> => {
  const ready: { -readonly [Key in keyof MarketsReady]: MarketsReady[Key] } = { ready: true }
  if (world !== 'predictions') {
    const exchanges = keep(await startSandboxExchanges({ ...options.exchanges, ...rate, seed }))
    const { spot, futures, perp, controlUrl } = exchanges
    ready.exchanges = { spot, futures, perp, controlUrl }
  }
  if (world !== 'exchanges') {
    const predictions = keep(await startSandboxPredictions({ ...options.predictions, ...rate, seed }))
    const { polymarket, kalshi, ethereum, controlUrl } = predictions
    ready.predictions = { polymarket, kalshi, ethereum, controlUrl }
  }
  return ready
})
const { close, ...ready } = sandbox
announce({ close }, ready, untilStdinEnds)
