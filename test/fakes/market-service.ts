/** The real service on a socket, with a stopped clock and a store that the test fills beside it. */
import { cpSync, existsSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAccounts } from '../../src/app/open-accounts.ts'
import { startService } from '../../src/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { type Answer, type Asked, ask } from './client.ts'
import { type KeyRequest, makeKey } from './keys.ts'
import { fillWorld } from './market-world.ts'
import { dataFolder, silentLog } from './service.ts'
import { setClock } from './set-clock.ts'
import { storeEnv, storesIn } from './stores.ts'

const FAST = { requestsPerSecond: 100_000, requestsPerMinute: 6_000_000 }

/** The built-in plans without their rate limit, which would otherwise interfere with what a test is about. */
const MARKET_PLANS = [
  { name: 'free', ...FAST },
  { name: 'developer', ...FAST },
  { name: 'business', ...FAST },
  { name: 'enterprise', extends: 'business', maxRowsPerRequest: 10_000, ...FAST },
  { name: 'once', extends: 'business', requestsPerSecond: 1, requestsPerMinute: 1 },
]

/** Each run has its own folder; on a server there is nothing to copy. */
const CAN_COPY = process.env.TAPELINE_TEST_RUN !== undefined && process.env.TAPELINE_TEST_ENGINE === undefined

/** A template to copy, filled once by the first process of a run that needs it: that is slower than a start. */
async function filledWorld(nowMs: number): Promise<string> {
  const place = join(tmpdir(), `market-world-${nowMs}`)
  if (existsSync(place)) return place
  const { path, remove } = dataFolder()
  const store = await storesIn(path, setClock(nowMs)).environment('test')
  await fillWorld(store)
  await store.close()
  try {
    renameSync(path, place)
  } catch (error) {
    // Another process was faster.
    remove()
    if (!existsSync(place)) throw error
  }
  return place
}

export interface MarketService {
  readonly url: string
  /** Creates the first operator. */
  readonly operatorToken: string | undefined
  readonly folder: string
  /** The store of the test environment, opened beside the service as a recorder would. */
  readonly store: EnvironmentStore
  readonly clock: Clock & { set(nowMs: number): void }
  /** Lets a second pass, because what another handle wrote is not seen immediately. */
  tick(): void
  /** A key of a plan; always the same one unless other options are given. */
  key(request?: KeyRequest): Promise<string>
  /** A GET with the key of a plan (enterprise by default). */
  get(path: string, asked?: Asked & { plan?: string }): Promise<Answer>
  stop(options?: { keep: boolean }): Promise<void>
}

export async function startMarketService(options: {
  nowMs: number
  folder?: string
  fill?: (store: EnvironmentStore) => Promise<void>
}): Promise<MarketService> {
  const made = options.folder === undefined ? dataFolder() : undefined
  const folder = options.folder ?? made?.path ?? ''
  const plansFile = join(folder, 'plans.json')
  writeFileSync(plansFile, JSON.stringify({ plans: MARKET_PLANS }))
  const { config } = loadConfig({
    ...storeEnv(folder),
    TAPELINE_PORT: '0',
    TAPELINE_PLANS: plansFile,
    TAPELINE_SANDBOX: 'off',
    TAPELINE_TRUSTED_PROXIES: '127.0.0.0/8',
  })
  const date = setClock(options.nowMs)
  let passedMs = 0
  const clock = { ...date, elapsed: () => performance.now() + passedMs }
  const filled =
    options.fill === fillWorld && made !== undefined && CAN_COPY
      ? await filledWorld(options.nowMs)
      : undefined
  if (filled !== undefined) cpSync(filled, folder, { recursive: true })
  const store = await storesIn(folder, clock).environment('test')
  if (filled === undefined) await options.fill?.(store)
  const service = await startService(config, { clock, log: silentLog, version: '0.0.0-test' })
  const parts = openAccounts(config, clock)
  const keys = new Map<string, Promise<string>>()
  const planKey = (plan: string) => {
    const known = keys.get(plan) ?? makeKey(parts.accounts, { plan })
    keys.set(plan, known)
    return known
  }
  return {
    url: service.url,
    operatorToken: service.operatorToken,
    folder,
    store,
    clock,
    tick: () => {
      passedMs += 1_000
      date.advance(1_000)
    },
    key: (request = {}) => {
      const plain = Object.keys(request).every((name) => name === 'plan')
      return plain ? planKey(request.plan ?? 'enterprise') : makeKey(parts.accounts, request)
    },
    get: async (path, { plan = 'enterprise', ...asked } = {}) =>
      ask(`${service.url}${path}`, { ...asked, key: asked.key ?? (await planKey(plan)) }),
    stop: async ({ keep } = { keep: false }) => {
      await service.stop()
      await parts.store.close()
      await store.close()
      if (!keep) made?.remove()
    },
  }
}
