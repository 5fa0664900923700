/**
 * Several processes of the service on one PostgreSQL store, in roles of their own, before one simulated world that
 * belongs to none of them: a spot exchange and a node.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { startSandboxExchanges } from '../../sandbox/exchanges/run.ts'
import { type AccountsParts, openAccounts } from '../../src/app/open-accounts.ts'
import { loadConfig } from '../../src/config.ts'
import { systemClock } from '../../src/kit/clock.ts'
import type { LeaseRecord } from '../../src/store/leases.ts'
import { openStores, parseStoreAddress } from '../../src/store/open-stores.ts'
import { type KeyRequest, makeKey } from '../fakes/keys.ts'
import { type ChildService, dataFolder, spawnService, WIDE_PLAN } from '../fakes/service.ts'
import { postgresPlace } from '../postgres/test-postgres.ts'

const NODE = join(import.meta.dirname, '../../sandbox/node/process.ts')
const NETWORK = 'testnet-10'
const SECRET = 'shared by all processes of a test'

export const WORKER = 'record,index,deliver,upkeep'

export interface Machines {
  readonly accounts: AccountsParts
  start(roles: string): Promise<ChildService>
  key(request?: KeyRequest): Promise<string>
  leases(): Promise<LeaseRecord[]>
  close(): Promise<void>
}

export async function startMachines(): Promise<Machines> {
  const place = postgresPlace()
  const exchanges = await startSandboxExchanges({ seed: 7 })
  const node = await startNode()
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
  const leases = openStores(parseStoreAddress(place.address), systemClock).leases()
  return {
    accounts,
    start,
    key: (request = {}) => makeKey(accounts.accounts, { environment: 'live', ...request }),
    leases: () => leases.list(),
    async close() {
      for (const { child } of running) child.kill('SIGCONT')
      await Promise.all(running.map((service) => service.kill('SIGKILL')))
      await leases.close()
      await accounts.store.close()
      node.child.kill('SIGKILL')
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

async function startNode(): Promise<{ url: string; child: ChildProcess }> {
  const args = [NODE, '--name', 'node', '--network', NETWORK, '--tps', '5', '--with-parent']
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const ready = JSON.parse(line) as { nodes: { url: string }[] }
  return { url: ready.nodes[0]?.url ?? '', child }
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
