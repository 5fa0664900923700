/**
 * A real node (`kaspad`) on a private network, run from the program that TAPELINE_KASPAD names. Proof of work is not
 * checked there, so blocks are made as fast as they are wanted.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type PlainClient, plainClient } from '../fakes/plain-node-client.ts'
import { freePort } from '../free-port.ts'

/** For the `skip` of tests. */
export const withoutNode: string | false =
  process.env.TAPELINE_KASPAD === undefined ? 'TAPELINE_KASPAD names no kaspad' : false

export const NETWORK = 'simnet'
/** An address of the network whose key nobody has. */
export const NOBODY = 'kaspasim:qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqekcujlt2'
const START_MS = 60_000

export interface RealNode {
  readonly name: string
  /** Of the JSON wRPC. */
  readonly url: string
  readonly peerPort: number
  readonly pid: number
  /** A connection for the test itself. */
  rpc: PlainClient
  /** SIGSTOP and SIGCONT. */
  pause(): void
  resume(): void
  /** `kill -9`. */
  kill(): Promise<void>
  /** Starts it again after a kill, on the same data. */
  restart(): Promise<void>
  stop(): Promise<void>
}

export interface RealNodeOptions {
  readonly name: string
  /** Accepts calls that change the node itself (`--unsaferpc`). */
  readonly unsafe?: boolean
  /** Overrides of the network's parameters, as a file for the node. */
  readonly paramsFile?: string
}

export async function startRealNode({
  name,
  unsafe = false,
  paramsFile,
}: RealNodeOptions): Promise<RealNode> {
  const program = process.env.TAPELINE_KASPAD
  if (program === undefined) throw new Error('TAPELINE_KASPAD names no kaspad')
  const folder = mkdtempSync(join(tmpdir(), `tapeline-kaspad-${name}-`))
  const [rpcPort, peerPort] = [await freePort(), await freePort()]
  const url = `ws://127.0.0.1:${rpcPort}`

  async function begin(): Promise<{ child: ChildProcess; rpc: PlainClient }> {
    const child = spawn(
      program as string,
      [
        ...[`--${NETWORK}`, '--utxoindex', '--yes', '--nologfiles', '--loglevel=warn', '--nogrpc'],
        ...['--disable-upnp', '--nodnsseed', '--enable-unsynced-mining', '--ram-scale=0.2'],
        ...[`--appdir=${folder}`, `--rpclisten-json=127.0.0.1:${rpcPort}`, `--listen=127.0.0.1:${peerPort}`],
        ...(paramsFile === undefined ? [] : [`--override-params-file=${paramsFile}`]),
        ...(unsafe ? ['--unsaferpc'] : []),
        '--outpeers=0',
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    )
    let printed = ''
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        printed = (printed + chunk.toString()).slice(-4_000)
      })
    const deadline = performance.now() + START_MS
    for (;;) {
      if (child.exitCode !== null || performance.now() > deadline)
        throw new Error(`${name} did not start: ${printed}`)
      try {
        const rpc = await plainClient(url)
        await rpc.call('getServerInfo')
        return { child, rpc }
      } catch {
        await wait(100)
      }
    }
  }

  async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    node.rpc.close()
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    // A stopped process would not handle the other signals.
    child.kill('SIGCONT')
    child.kill(signal)
    await ended
  }

  let { child, rpc } = await begin()
  const node: RealNode = {
    name,
    url,
    peerPort,
    get pid() {
      return child.pid ?? 0
    },
    rpc,
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    kill: () => end('SIGKILL'),
    async restart() {
      const begun = await begin()
      child = begun.child
      node.rpc = begun.rpc
    },
    async stop() {
      await end('SIGTERM')
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return node
}
