/**
 * The simulated nodes of the test environment: one child process with two nodes on one chain. It ends with this process
 * (when its stdin closes) and continues from its state folder after a restart. If it dies, it is started again on the
 * same ports.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { crc32 } from 'node:zlib'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'

export interface SandboxNodes {
  readonly nodes: readonly { readonly name: string; readonly url: string; readonly controlUrl: string }[]
  stop(): Promise<void>
}

export interface SandboxNodesOptions {
  readonly seed: string
  readonly network: string
  readonly stateFolder: string
  readonly clock: Clock
  readonly log: Logger
}

const ENTRY = fileURLToPath(new URL('../../sandbox/node/process.ts', import.meta.url))
const NODES = 2
const START_LIMIT_MS = 30_000
const RESTART_DELAY_MS = 500
const STOP_LIMIT_MS = 3_000

/** The first line that the process prints. */
type Ready = Pick<SandboxNodes, 'nodes'>

export async function startSandboxNodes(options: SandboxNodesOptions): Promise<SandboxNodes> {
  const { log, clock } = options
  const stopping = new AbortController()
  const first = await launch(options, [])
  let child = first.child
  const ports = first.ready.nodes.flatMap(({ url, controlUrl }) => [
    ...['--port', new URL(url).port],
    ...['--control-port', new URL(controlUrl).port],
  ])

  const supervise = (running: ChildProcess) => {
    running.once('exit', (code, signal) => {
      if (stopping.signal.aborted) return
      log.warn({ code, signal }, 'the sandbox nodes ended and are started again')
      void restart()
    })
  }
  const restart = async () => {
    while (!stopping.signal.aborted) {
      try {
        await clock.sleep(RESTART_DELAY_MS, stopping.signal)
        child = (await launch(options, ports)).child
        if (stopping.signal.aborted) child.kill('SIGKILL')
        else supervise(child)
        return
      } catch (error) {
        if (!stopping.signal.aborted) log.error({ err: error }, 'the sandbox nodes could not be started')
      }
    }
  }
  supervise(child)

  return {
    nodes: first.ready.nodes,
    async stop() {
      stopping.abort()
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS)
      await gone
      clearTimeout(timer)
    },
  }
}

async function launch(options: SandboxNodesOptions, ports: readonly string[]) {
  const args = [
    // Most objects are short-lived: a small young generation keeps the process small and needs no extra threads to
    // collect.
    '--max-semi-space-size=1',
    '--single-threaded-gc',
    ENTRY,
    '--with-parent',
    ...['--name', 'sandbox'],
    ...['--nodes', String(NODES)],
    ...['--seed', String(crc32(options.seed))],
    ...['--network', options.network],
    ...['--state-folder', options.stateFolder],
    ...ports,
  ]
  // Its own process group, so that Ctrl-C reaches only this process, which then stops the nodes in order.
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true })
  child.stdin?.on('error', () => {})
  try {
    return { child, ready: await readyLine(child) }
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
}

async function readyLine(child: ChildProcess): Promise<Ready> {
  if (child.stdout === null) throw new Error('the sandbox nodes have no output')
  const lines = createInterface({ input: child.stdout })
  const limit = AbortSignal.timeout(START_LIMIT_MS)
  const ended = once(child, 'exit', { signal: limit }).then(([code]) => {
    throw new Error(`the sandbox nodes ended with ${code}`)
  })
  ended.catch(() => {})
  const [line] = (await Promise.race([once(lines, 'line', { signal: limit }), ended])) as [string]
  return JSON.parse(line) as Ready
}
