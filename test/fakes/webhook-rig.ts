/** Webhooks of one environment on real stores in a folder, without the HTTP half. */
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccounts } from '../../src/accounts/accounts.ts'
import { accountBudgetId } from '../../src/accounts/key-ring.ts'
import { Ledger } from '../../src/accounts/ledger.ts'
import { planBook } from '../../src/accounts/plans.ts'
import { billingPeriod } from '../../src/core/billing-period.ts'
import { newEvent } from '../../src/events/event.ts'
import { createEventTail } from '../../src/events/publish.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { createLogger } from '../../src/kit/log.ts'
import { createSecretBox } from '../../src/kit/secret-box.ts'
import { appendEvents } from '../../src/store/conformance/chain-engine.ts'
import { createCredits } from '../../src/webhooks/credits.ts'
import { createPoster } from '../../src/webhooks/post.ts'
import { systemResolve } from '../../src/webhooks/resolve-host.ts'
import { startWebhooks, type WebhookServiceDeps } from '../../src/webhooks/webhooks.ts'
import { storesIn } from './stores.ts'

export const NETWORK = 'testnet-10'
/** A fixed installation key, so that tests that restart a process can decrypt its secrets. */
const BOX_KEY = Buffer.alloc(32, 7)

export interface RigOptions {
  folder?: string
  webhooks?: Partial<WebhookServiceDeps>
}

export async function startRig(options: RigOptions = {}) {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'tapeline-webhooks-'))
  const clock = systemClock
  const log = createLogger({ level: 'error' })
  const plans = planBook()
  const accountsStore = storesIn(folder, clock).accounts()
  const accounts = createAccounts({ store: accountsStore, plans, clock, randomBytes })
  const ledger = new Ledger({ store: accountsStore, holder: randomUUID(), clock, log })
  const unwatch = await accountsStore.watch({
    onAccounts: (ids) => {
      ledger.reload(ids)
      webhooks.accountsChanged(ids)
    },
    onWanted: () => ledger.yieldLeases(),
  })
  const chain = storesIn(folder).chain('test')
  const jobs = storesIn(folder, options.webhooks?.clock ?? clock).jobs('test')
  const tail = await createEventTail({ clock, store: chain.events })
  const credits = createCredits({
    ...{ ledger, accounts: accountsStore, plans, webhooks: jobs, environment: 'test', clock },
  })
  const webhooks = await startWebhooks({
    store: jobs,
    events: chain.events,
    tail,
    credits,
    box: createSecretBox(BOX_KEY, randomBytes),
    network: NETWORK,
    watch: () => () => {},
    allowPrivate: true,
    openPoster: createPoster,
    resolve: systemResolve(clock),
    random: Math.random,
    randomBytes,
    clock,
    log,
    ...options.webhooks,
  })

  return {
    folder,
    accounts,
    accountsStore,
    ledger,
    jobs,
    chain: chain.chain,
    events: chain.events,
    tail,
    webhooks,
    plans,
    /** A business account with a key. */
    async createOwner(email = 'owner@example.com') {
      const account = await accounts.create({ email, plan: 'business' })
      const { record } = await accounts.createKey({ accountId: account.id, environment: 'test', name: 'k' })
      return { accountId: account.id, keyId: record.id, plan: plans.get('business') }
    },
    /** Appends blocks to the log and returns the last number. */
    async emitBlocks(count: number): Promise<number> {
      const seq = await appendEvents(
        chain.chain,
        Array.from({ length: count }, (_, index) => blockEvent(index)),
      )
      tail.announce(seq)
      return seq
    },
    async creditsUsed(accountId: string): Promise<number> {
      await ledger.flush()
      const account = await accounts.get(accountId)
      const { startMs } = billingPeriod(clock.now(), account.billingDay)
      const state = await accountsStore.budget({
        id: accountBudgetId(accountId, 'test'),
        periodStartMs: startMs,
      })
      return state?.used ?? 0
    },
    async close({ keepFiles = false } = {}) {
      await webhooks.close()
      await tail.close()
      await ledger.close()
      unwatch()
      await jobs.close()
      await chain.close()
      await accountsStore.close()
      if (!keepFiles) rmSync(folder, { recursive: true, force: true })
    },
  }
}
export type Rig = Awaited<ReturnType<typeof startRig>>

export function blockEvent(index: number) {
  return newEvent({
    kind: 'block_added',
    network: NETWORK,
    createdAtMs: Date.now(),
    data: {
      hash: index.toString(16).padStart(64, '0'),
      daa_score: BigInt(index),
      blue_score: BigInt(index),
      timestamp: '2026-03-14T04:00:00.000Z',
      transaction_ids: [],
    },
  })
}
