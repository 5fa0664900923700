/** One environment: its market half, its chain half, and the stream and webhooks that read its event log. */
import type { Ledger } from '../accounts/ledger.ts'
import type { PlanBook } from '../accounts/plans.ts'
import { idleNotice } from '../api/endpoints/account/idle-notice.ts'
import { STARTING_MS, serviceStatus } from '../api/endpoints/account/service-status.ts'
import type { Services } from '../api/endpoints/services.ts'
import type { CursorCodec } from '../core/cursor.ts'
import type { AccountsStore } from '../store/accounts.ts'
import { startChain } from './chain.ts'
import { openDeliveryStore, startDelivery } from './delivery.ts'
import { diskStatus } from './disk-status.ts'
import type { DiskUseService } from './disk-use.ts'
import { startMarket } from './market.ts'
import type { EnvironmentParts } from './parts.ts'
import type { InstallationSecrets } from './secrets.ts'

/** The services that are the same in every environment. */
export type CommonServices = Omit<
  Services,
  'market' | 'chain' | 'webhooks' | 'symbols' | 'status' | 'isDiskLow'
>

export async function startEnvironment(
  parts: EnvironmentParts,
  deps: {
    readonly common: CommonServices
    readonly cursors: CursorCodec
    readonly secrets: InstallationSecrets
    readonly ledger: Ledger
    readonly accounts: AccountsStore
    readonly plans: PlanBook
    readonly disk: DiskUseService
  },
) {
  const { environment, config, clock } = parts
  const { common, cursors, secrets, ledger, accounts, plans, disk } = deps
  const idle = idleNotice(config, environment)
  const market = await startMarket(parts, cursors)
  const deliveries = openDeliveryStore(parts)
  await secrets.checkWebhooks(environment, deliveries)
  const chain = await startChain(parts, cursors, await deliveries.highestSeq())
  const delivery = await startDelivery(parts, {
    store: deliveries,
    events: chain.index.events.store,
    tail: chain.index.events.tail,
    watched: chain.index.watched,
    network: chain.upstreams.network,
    ledger,
    accounts,
    plans,
    box: secrets.box,
  })
  const status: Services['status'] = async () =>
    serviceStatus(
      {
        environment,
        ingestion: await market.ingestion(),
        nodes: chain.nodes(),
        index: await chain.index.indexing(),
        webhooks: await delivery.deliveries(),
        disk: diskStatus(disk, environment),
        notice: [idle.market, idle.chain].filter((text) => text !== null).join(' ') || null,
      },
      {
        isStarting: clock.now() - common.about.startedAtMs < STARTING_MS,
        isUndelivered: delivery.isUndelivered(),
      },
    )
  return {
    services: {
      ...common,
      ...market.services,
      ...chain.services,
      ...delivery.services,
      status,
      isDiskLow: disk.isLow,
    },
    hub: delivery.hub,
    coverage: market.coverage,
    gapHistory: market.gapHistory,
    record: market.record,
    accountsChanged: delivery.accountsChanged,
  }
}
