/** What a test needs as a client of the prediction venues: a clock to steer, signed connections, remote calls. */
import { constants, sign } from 'node:crypto'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import type { SandboxPredictions } from '../../sandbox/predictions/run.ts'
import type { Clock } from '../../src/kit/clock.ts'
import { ownConnections } from '../sent-bytes.ts'
import { type Json, openSocket, type TestSocket } from './open-socket.ts'

/** Real time from a chosen instant, with jumps that wake whoever sleeps: a slow machine changes nothing in a test. */
export interface SteerableClock extends Clock {
  skip(ms: number): void
  /** Moves on in steps, and lets the sandbox send what happened in each of them. */
  run(ms: number, stepMs?: number): Promise<void>
  runUntil(timeMs: number, stepMs?: number): Promise<void>
  /** Resolves when everything that was sent on the connections made since has arrived, however busy the machine is. */
  arrived(): Promise<void>
}

/** Who was woken has sent what it sends. */
const TURNS_PER_STEP = 12

export function steerableClock(startMs: number): SteerableClock {
  const origin = performance.now()
  let skipped = 0
  const arrived = ownConnections()
  const sleepers = new Set<{ readonly endsAtMs: number; readonly wake: () => void }>()
  const clock: SteerableClock = {
    now: () => Math.floor(startMs + skipped + performance.now() - origin),
    async sleep(ms, signal) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const sleeper = { endsAtMs: clock.now() + ms, wake: resolve }
      sleepers.add(sleeper)
      const ended = new AbortController()
      const signals = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal])
      try {
        await Promise.race([promise, wait(ms, undefined, { signal: signals })])
      } finally {
        sleepers.delete(sleeper)
        ended.abort()
      }
    },
    skip(ms) {
      skipped += ms
      for (const { endsAtMs, wake } of sleepers) if (endsAtMs <= clock.now()) wake()
    },
    run: (ms, stepMs) => clock.runUntil(clock.now() + ms, stepMs),
    async runUntil(timeMs, stepMs = 2_000) {
      while (clock.now() < timeMs) {
        clock.skip(Math.min(stepMs, timeMs - clock.now()))
        for (let turn = 0; turn < TURNS_PER_STEP; turn++) await nextTurn()
        await arrived()
      }
    },
    arrived,
  }
  return clock
}

export function signedHeaders(
  account: { keyId: string; privateKey: string },
  method: string,
  path: string,
  timeMs: number,
): Record<string, string> {
  const signature = sign('sha256', Buffer.from(`${timeMs}${method}${path}`), {
    key: account.privateKey,
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  })
  return {
    'KALSHI-ACCESS-KEY': account.keyId,
    'KALSHI-ACCESS-SIGNATURE': signature.toString('base64'),
    'KALSHI-ACCESS-TIMESTAMP': String(timeMs),
  }
}

export function openKalshi(sandbox: Pick<SandboxPredictions, 'kalshi'>, timeMs: number): Promise<TestSocket> {
  const { keyId, privateKey } = sandbox.kalshi
  if (privateKey === undefined) throw new RangeError('the sandbox account has no private key')
  const headers = signedHeaders({ keyId, privateKey }, 'GET', '/trade-api/ws/v2', timeMs)
  return openSocket(sandbox.kalshi.wsUrl, { headers })
}

export async function getJson<T = Json>(url: string): Promise<T> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${response.status} ${url}: ${await response.text()}`)
  return (await response.json()) as T
}

export async function rpc(url: string, method: string, params: unknown[]): Promise<Json> {
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return (await response.json()) as Json
}

export interface Listed {
  slug: string
  conditionId: string
  tokens: string[]
  endDate: string
}

/** The open markets of a series, soonest end first. */
export async function openMarkets(
  sandbox: Pick<SandboxPredictions, 'polymarket'>,
  series: string,
  limit = 500,
): Promise<Listed[]> {
  const events = await getJson<{ markets: Json[] }[]>(
    `${sandbox.polymarket.gammaUrl}/events?series_slug=${series}&closed=false&limit=${limit}&order=endDate&ascending=true`,
  )
  return events.flatMap((event) =>
    event.markets.map((market) => ({
      slug: market.slug as string,
      conditionId: market.conditionId as string,
      tokens: JSON.parse(market.clobTokenIds as string) as string[],
      endDate: market.endDate as string,
    })),
  )
}
