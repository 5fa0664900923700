/**
 * Several processes of the service on one PostgreSQL store, with different roles, and one simulated world that belongs
 * to none of them and whose truth is known: a spot exchange, and a chain with a node.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type RunningSandboxChain,
  type RunningSandboxNode,
  startSandboxChain,
  startSandboxNode,
} from '../../sandbox/node/run.ts'
import { type AccountsParts, openAccounts } from '../../src/app/open-accounts.ts'
import { loadConfig } from '../../src/config/config.ts'
import { systemClock } from '../../src/kit/clock.ts'
import type { LeaseRecord } from '../../src/store/leases.ts'
import { openStores, parseStoreAddress } from '../../src/store/open-stores.ts'
import type { Stores } from '../../src/store/stores.ts'
import { type KeyRequest, makeKey } from '../fakes/keys.ts'
import { type ChildService, dataFolder, spawnService, WIDE_PLAN } from '../fakes/service.ts'
import { type PostgresPlace, postgresPlace } from '../postgres/test-postgres.ts'
import { startTestExchanges, type TestExchanges } from '../sandbox/start.ts'

/** A small world is enough to test what happens to the processes. */
const SOAK = process.env.TAPELINE_SOAK !== undefined
const NETWORK = 'testnet-10'
const SECRET = 'shared by all processes of a test'
const TRANSACTIONS_PER_SECOND = SOAK ? 5 : 2
/** More than a long test creates, so that everything that is compared is still there. */
const KEEP_BLOCKS = 50_000

export const WORKER = 'record,index,deliver,upkeep'

export interface Machines {
  readonly accounts: AccountsParts
  /** Beside the processes, as the command line opens them. */
  readonly stores: Stores
  readonly exchanges: TestExchanges
  readonly chain: RunningSandboxChain
  readonly node: RunningSandboxNode
  /** The settings of its processes. */
  readonly env: Record<string, string>
  start(roles: string): Promise<ChildService>
  key(request?: KeyRequest): Promise<string>
  leases(): Promise<LeaseRecord[]>
  close(): Promise<void>
}

export async function startMachines(place: PostgresPlace = postgresPlace()): Promise<Machines> {
  const exchanges = await startTestExchanges({ seed: 7, ...(SOAK ? {} : { tradesPerSecond: 1 }) })
  const chain = await startSandboxChain({
    ...{ seed: 41, network: NETWORK, keepBlocks: KEEP_BLOCKS, coinbaseMaturity: 50 },
    ...(SOAK ? {} : { blocksPerSecond: 2 }),
    transactionsPerSecond: TRANSACTIONS_PER_SECOND,
  })
  const node = await startSandboxNode({ chain, name: 'node' })
  const { restUrl, wsUrl } = exchanges.spot
  const shared = { TAPELINE_STORE: place.address, TAPELINE_SECRET: SECRET }
  const env = {
    ...shared,
    TAPELINE_TEST: 'off',
    TAPELINE_LIVE: 'cexa',
    TAPELINE_VENUE_HOSTS: `binance-spot.rest=${restUrl},binance-spot.stream=${wsUrl}`,
    TAPELINE_NODES: node.url,
    TAPELINE_NETWORK: NETWORK,
    TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on',
    TAPELINE_LOG_LEVEL: 'info',
    TAPELINE_LOG_FORMAT: 'json',
  }
  const folders: ReturnType<typeof dataFolder>[] = []
  const running: ChildService[] = []
  const ownFolder = () => {
    const folder = dataFolder()
    folders.push(folder)
    return folder.path
  }
  const start = async (roles: string) => {
    const service = await spawnService(ownFolder(), { env: { ...env, TAPELINE_ROLES: roles } })
    running.push(service)
    return service
  }
  const accounts = openAccounts(
    loadConfig({ TAPELINE_DATA: ownFolder(), ...shared, TAPELINE_PLANS: plansOf(ownFolder()) }).config,
    systemClock,
  )
  const stores = openStores(parseStoreAddress(place.address), systemClock)
  const leases = stores.leases()
  return {
    ...{ accounts, stores, exchanges, chain, node, env, start },
    key: (request = {}) => makeKey(accounts.accounts, { environment: 'live', ...request }),
    leases: () => leases.list(),
    async close() {
      for (const { child } of running) child.kill('SIGCONT')
      await Promise.all(running.map((service) => service.kill('SIGKILL')))
      await leases.close()
      await accounts.store.close()
      await node.close()
      await chain.close()
      await exchanges.close()
      await place.remove()
      for (const folder of folders) folder.remove()
    },
  }
}

function plansOf(folder: string): string {
  const file = join(folder, 'plans.json')
  writeFileSync(file, JSON.stringify({ plans: [WIDE_PLAN] }))
  return file
}

/** Which of these processes leads a part; undefined while nobody does. */
export async function leaderOf(
  machines: Machines,
  part: string,
  processes: readonly ChildService[],
): Promise<ChildService | undefined> {
  const lease = (await machines.leases()).find((each) => each.part === part && each.leftMs > 0)
  return processes.find(({ pid }) => lease?.holder.endsWith(`:${pid}`))
}
