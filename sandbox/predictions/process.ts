/**
 * The simulated prediction venues and chain as a process or a worker thread of their own.
 *
 *   node sandbox/predictions/process.ts --seed 1 [--trades-per-second 3] [--slot-ms 100] [--chain polygon]
 *        [--providers 3] [--gamma-port 0] … [--ethereum-port 0] [--control-port 0]
 *
 * A process prints one line of JSON with the addresses when it is ready and ends on SIGTERM, SIGINT or when its
 * standard input closes (with --until-stdin-ends). A thread takes the same options as `workerData`, posts the
 * addresses, and ends on the message "close".
 */
import { parseArgs } from 'node:util'
import { isMainThread, workerData } from 'node:worker_threads'
import { lowerPriority, SANDBOX_NICE } from '../../src/kit/lower-priority.ts'
import { announce } from '../control/announce.ts'
import { type PortName, type SandboxPredictionsOptions, startSandboxPredictions } from './run.ts'
import { CHAINS } from './world/rounds.ts'

const PORTS: readonly (PortName | 'ethereum')[] = [
  'gamma',
  'clob',
  'data',
  'ws',
  'rtds',
  'kalshi',
  'ethereum',
  'control',
]

interface Command {
  options: SandboxPredictionsOptions
  untilStdinEnds: boolean
}

function fromArguments(): Command {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    options: {
      seed: text,
      'trades-per-second': text,
      'slot-ms': text,
      chain: text,
      providers: text,
      'gamma-port': text,
      'clob-port': text,
      'data-port': text,
      'ws-port': text,
      'rtds-port': text,
      'kalshi-port': text,
      'ethereum-port': text,
      'control-port': text,
      'until-stdin-ends': { type: 'boolean' },
    },
  })
  const number = (name: keyof typeof values, fallback: number): number => {
    const value = values[name]
    const parsed = value === undefined ? fallback : Number(value)
    if (!Number.isFinite(parsed) || parsed < 0) throw new RangeError(`--${name} must be a number`)
    return parsed
  }
  const chain = CHAINS.find((known) => known === (values.chain ?? 'polygon'))
  if (chain === undefined) throw new RangeError(`--chain must be one of ${CHAINS.join(', ')}`)
  return {
    options: {
      seed: number('seed', 1),
      tradesPerSecond: number('trades-per-second', 3),
      slotMs: number('slot-ms', 100),
      providers: number('providers', 3),
      chain,
      ports: Object.fromEntries(PORTS.map((name) => [name, number(`${name}-port`, 0)])),
    },
    untilStdinEnds: values['until-stdin-ends'] ?? false,
  }
}

lowerPriority(SANDBOX_NICE)
const command: Command = isMainThread
  ? fromArguments()
  : { options: workerData as SandboxPredictionsOptions, untilStdinEnds: false }
const sandbox = await startSandboxPredictions(command.options)
const { polymarket, kalshi, ethereum, controlUrl } = sandbox
const ready = { ready: true, polymarket, kalshi, ethereum, controlUrl }
announce(sandbox, ready, command.untilStdinEnds)
