import { randomBytes } from 'node:crypto'
import type { Ledger } from '../accounts/ledger.ts'
import type { PlanBook } from '../accounts/plans.ts'
import type { Network } from '../core/chain/network.ts'
import { lookAtLog } from '../events/look-at-log.ts'
import type { EventTail } from '../events/publish.ts'
import type { SecretBox } from '../kit/secret-box.ts'
import type { WatchedAddresses } from '../relay/addresses.ts'
import type { AccountsStore } from '../store/accounts.ts'
import type { EventStore } from '../store/events.ts'
import type { JobsStore } from '../store/jobs.ts'
import { createStreamHub } from '../stream/hub.ts'
import { createCredits } from '../webhooks/credits.ts'
import { createPoster } from '../webhooks/post.ts'
import { receiverResolve } from '../webhooks/resolve-host.ts'
import { startWebhooks } from '../webhooks/webhooks.ts'
import { deliveryMetrics } from './part-metrics.ts'
import type { EnvironmentParts } from './parts.ts'
import { countedPosters } from './post-metrics.ts'
import { upgradeUrl } from './public-pages.ts'
import { tracedPosters } from './traced-parts.ts'
import { watchDeliverers } from './watch-deliverers.ts'

export interface DeliveryDeps {
  readonly store: JobsStore
  readonly events: EventStore
  readonly tail: EventTail
  readonly watched: WatchedAddresses
  readonly network: Network
  readonly ledger: Ledger
  readonly accounts: AccountsStore
  readonly plans: PlanBook
  /** Encrypts the signing secrets in the database. */
  readonly box: SecretBox
}

/** Opened before anything is written to the event log, because it knows which event numbers have been used. */
export function openDeliveryStore({ environment, stores, shutdown, probes }: EnvironmentParts): JobsStore {
  const store = stores.jobs(environment)
  shutdown.add(`${environment} webhook store`, () => store.close())
  probes.push({ name: `${environment} webhook store`, isStore: true, check: () => store.probe() })
  return store
}

/** The readers of one environment's event log: the stream and the webhooks. */
export async function startDelivery(parts: EnvironmentParts, deps: DeliveryDeps) {
  const { environment, config, clock, log, metrics, tracing, shutdown, probes } = parts
  const { store, events, tail, watched, network, ledger, accounts, plans } = deps
  const onError = (err: unknown) => log.error({ err, environment }, 'the event log could not be read')
  shutdown.add(`${environment} look at the event log`, lookAtLog({ events, tail, clock, onError }))
  const watch = (addresses: readonly string[]) => watched.watch(addresses)
  const posters = countedPosters(createPoster, metrics, environment)
  const webhooks = await startWebhooks({
    store,
    events,
    tail,
    credits: createCredits({ ledger, accounts, plans, webhooks: store, environment, clock }),
    box: deps.box,
    network,
    watch,
    delivers: parts.does('deliver'),
    allowPrivate: config.allowPrivateWebhooks,
    openPoster: tracing === undefined ? posters : tracedPosters(posters, tracing),
    resolve: receiverResolve(clock, { allowPrivate: config.allowPrivateWebhooks }),
    clock,
    random: Math.random,
    randomBytes,
    log,
    upgrade: { plans: plans.list(), url: upgradeUrl(config) },
  })
  shutdown.add(`${environment} webhooks`, () => webhooks.close())
  const deliverers = watchDeliverers(parts, { activeWebhooks: () => webhooks.activeCount })
  probes.push({ name: `${environment} deliveries`, check: deliverers.check })
  const hub = createStreamHub({
    ...{ events, tail, network, watch, clock, random: Math.random, log },
    connections: parts.limits.active(`${environment} stream`),
  })
  shutdown.add(`${environment} stream`, () => hub.close())
  deliveryMetrics(metrics, environment, {
    pending: webhooks.status,
    delay: webhooks.delay,
    connections: () => hub.connections,
  })
  return {
    services: { webhooks },
    hub,
    deliveries: () => webhooks.status(),
    isUndelivered: deliverers.isMissing,
    accountsChanged: (accountIds: readonly string[]) => webhooks.accountsChanged(accountIds),
  }
}
