/**
 * The simulated exchanges as a process or a worker thread of their own.
 *
 *   node sandbox/exchanges/process.ts --seed 1 [--trades-per-second 3] [--spot-port 0] [--futures-port 0]
 *        [--perp-port 0] [--control-port 0]
 *
 * A process prints one line of JSON with the addresses when it is ready and ends on SIGTERM, SIGINT or when
 * its standard input closes (with --until-stdin-ends). A thread takes the same options as `workerData`, posts
 * the addresses, and ends on the message "close".
 */
import { parseArgs } from 'node:util'
import { isMainThread, workerData } from 'node:worker_threads'
import { lowerPriority, SANDBOX_NICE } from '../../src/kit/lower-priority.ts'
import { announce } from '../control/announce.ts'
import { type SandboxOptions, startSandboxExchanges } from './run.ts'

interface Command {
  options: SandboxOptions
  untilStdinEnds: boolean
}

function fromArguments(): Command {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    options: {
      seed: text,
      'trades-per-second': text,
      'spot-port': text,
      'futures-port': text,
      'perp-port': text,
      'control-port': text,
      'until-stdin-ends': { type: 'boolean' },
    },
  })
  const number = (name: string, value: string | undefined, fallback: number): number => {
    const parsed = value === undefined ? fallback : Number(value)
    if (!Number.isFinite(parsed) || parsed < 0) throw new RangeError(`--${name} must be a number`)
    return parsed
  }
  return {
    options: {
      seed: number('seed', values.seed, 1),
      tradesPerSecond: number('trades-per-second', values['trades-per-second'], 3),
      ports: {
        spot: number('spot-port', values['spot-port'], 0),
        futures: number('futures-port', values['futures-port'], 0),
        perp: number('perp-port', values['perp-port'], 0),
        control: number('control-port', values['control-port'], 0),
      },
    },
    untilStdinEnds: values['until-stdin-ends'] ?? false,
  }
}

lowerPriority(SANDBOX_NICE)
const command: Command = isMainThread
  ? fromArguments()
  : { options: workerData as SandboxOptions, untilStdinEnds: false }
const sandbox = await startSandboxExchanges(command.options)
const { spot, futures, perp, controlUrl } = sandbox
const ready = { ready: true, spot, futures, perp, controlUrl }
announce(sandbox, ready, command.untilStdinEnds)
