import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** Servers under measurement run in separate processes. */
export interface Running {
  port: number
  pid: number
  stop(): Promise<void>
}

const ROOT = join(import.meta.dirname, '..')
/** So high that the rate limit never refuses a request. */
const PLANS = {
  plans: [
    {
      name: 'bench',
      extends: 'business',
      creditsPerMonth: 9_000_000_000_000,
      requestsPerSecond: 100_000,
      requestsPerMinute: 6_000_000,
      maxRowsPerRequest: 10_000,
    },
  ],
}

export async function startBare(body: Buffer | string): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-bare-'))
  const file = join(folder, 'body')
  writeFileSync(file, body)
  const running = await start(['bench/bare-server.ts', file], {})
  return { ...running, stop: () => running.stop().finally(() => rmSync(folder, { recursive: true })) }
}

/** The simulated node, in a separate process. */
export async function startSandboxNode(): Promise<Running & { url: string }> {
  const running = await start(['bench/sandbox-node.ts'], {})
  return { ...running, url: `ws://127.0.0.1:${running.port}` }
}

/** A node for measurements, in a separate process. */
export async function startWideNode(bytes: number): Promise<Running & { url: string }> {
  const running = await start(['bench/wide-node.ts', String(bytes)], {})
  return { ...running, url: `ws://127.0.0.1:${running.port}` }
}

/** All six simulated venues in a separate process, and the settings with which a live environment records them. */
export async function startSandboxVenues(): Promise<{
  environment: Record<string, string>
  stop(): Promise<void>
}> {
  const { ready, stop } = await startAnnounced('sandbox/markets.ts')
  const { spot, futures, perp } = ready.exchanges as Record<string, VenueAddresses>
  const { polymarket, kalshi, ethereum } = ready.predictions as {
    polymarket: Record<'gammaUrl' | 'clobUrl' | 'dataUrl' | 'wsUrl' | 'rtdsUrl', string>
    kalshi: VenueAddresses & { keyId: string; privateKey: string }
    ethereum: { urls: string[] }
  }
  if (spot === undefined || futures === undefined || perp === undefined) throw new Error('a venue is missing')
  const hosts = {
    ...hostsOf('binance-spot', spot),
    ...hostsOf('binance-futures', futures),
    ...hostsOf('hyperliquid', perp),
    ...hostsOf('kalshi', kalshi),
    'polymarket.rest': polymarket.gammaUrl,
    'polymarket.clob': polymarket.clobUrl,
    'polymarket.data': polymarket.dataUrl,
    'polymarket.stream': new URL(polymarket.wsUrl).origin,
    'polymarket.reference': new URL(polymarket.rtdsUrl).origin,
  }
  return {
    environment: {
      TAPELINE_VENUE_HOSTS: Object.entries(hosts)
        .map(([name, url]) => `${name}=${url}`)
        .join(','),
      TAPELINE_KALSHI_KEY_ID: kalshi.keyId,
      TAPELINE_KALSHI_PRIVATE_KEY: kalshi.privateKey,
      TAPELINE_CHAINLINK_PROVIDERS: ethereum.urls.join(','),
    },
    stop,
  }
}

interface VenueAddresses {
  restUrl: string
  wsUrl: string
}

function hostsOf(venue: string, { restUrl, wsUrl }: VenueAddresses): Record<string, string> {
  return { [`${venue}.rest`]: new URL(restUrl).origin, [`${venue}.stream`]: new URL(wsUrl).origin }
}

/** A process that prints one line of JSON when it is ready. */
async function startAnnounced(
  file: string,
): Promise<{ ready: Record<string, unknown>; stop(): Promise<void> }> {
  const child = spawn(process.execPath, [file], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { ready: JSON.parse(line), stop: () => end(child) }
}

export interface BenchService extends Running {
  key: string
  folder: string
  /** A key of another account. */
  otherKey(): string
}

/**
 * The service as `npm start` runs it, on an empty data folder, with a key of a plan without narrow limits. `byNpm`: npm
 * is one of the processes.
 */
export async function startBenchService(
  options: {
    folder?: string
    keep?: boolean
    environment?: Record<string, string>
    keyFor?: 'test' | 'live'
    byNpm?: boolean
  } = {},
): Promise<BenchService> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'tapeline-bench-'))
  const plans = join(folder, 'plans.json')
  writeFileSync(plans, JSON.stringify(PLANS))
  const environment = {
    TAPELINE_DATA: folder,
    TAPELINE_PORT: '0',
    TAPELINE_PLANS: plans,
    TAPELINE_LOG_LEVEL: 'warn',
    ...options.environment,
  }
  const { keyFor = 'test', byNpm = false } = options
  const running = await (byNpm
    ? start(['start'], environment, 'npm')
    : start(['bin/tapeline', 'serve'], environment, 'sh'))
  const key = createKey(environment, keyFor)
  return {
    ...running,
    key,
    folder,
    otherKey: () => createKey(environment, keyFor),
    stop: () =>
      running.stop().finally(() => {
        if (options.keep !== true) rmSync(folder, { recursive: true, force: true })
      }),
  }
}

function createKey(environment: Record<string, string>, keyFor: string): string {
  const tapeline = (...args: string[]): Record<string, string> =>
    JSON.parse(
      execFileSync(process.execPath, ['src/main.ts', ...args, '--json'], {
        cwd: ROOT,
        env: { ...process.env, ...environment },
        encoding: 'utf8',
      }),
    )
  // A reused folder already has accounts.
  const email = `bench-${randomUUID()}@example.com`
  const { id = '' } = tapeline('accounts', 'create', '--email', email, '--plan', 'bench')
  const { key = '' } = tapeline('keys', 'create', '--account', id, '--environment', keyFor, '--name', 'bench')
  return key
}

async function start(
  args: string[],
  environment: Record<string, string>,
  command = process.execPath,
): Promise<Running> {
  const child = spawn(command, args, {
    cwd: ROOT,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const port = await listeningPort(child)
  return {
    port,
    pid: child.pid ?? 0,
    stop: () => end(child),
  }
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

function listeningPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)))
    child.stdout?.on('data', (chunk) => {
      text += chunk
      const match = /http:\/\/127\.0\.0\.1:(\d+)/.exec(text)
      if (match?.[1] !== undefined) resolve(Number(match[1]))
    })
  })
}
