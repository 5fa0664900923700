/**
 * The chain half with its readers in one process, like the real service: nodes, pool, indexer and event log, and on top
 * of them the webhooks and the stream. Adds laws 6 and 8 for the readers to those of the chain.
 */
import { mkdirSync } from 'node:fs'
import { createAccounts } from '../../../src/accounts/accounts.ts'
import type { EventKind } from '../../../src/events/kinds.ts'
import { openStores, type SqliteAddress } from '../../../src/store/open-stores.ts'
import { CHAIN_FAULTS } from '../chain/faults.ts'
import { startChainPart } from '../chain/part.ts'
import type { SimulatedProcess } from '../process.ts'
import type { Part, PartKind, Surroundings } from '../simulation.ts'
import { overdrawn } from './judge-credits.ts'
import { judgeDeliveries, type WebhookFacts } from './judge-deliveries.ts'
import { beginReceiverFault, RECEIVER_FAULTS } from './receiver-faults.ts'
import { Receivers } from './receivers.ts'
import { type ReaderService, startReaderService } from './service.ts'
import { StreamClient } from './stream-clients.ts'
import { LogTruth } from './truth.ts'
import { PLANS, type Selection } from './world.ts'

/** Small, because the readers take as much time as the rest of the simulation. */
const SMALL_CHAIN = { nodes: 2, blocksPerSecond: 0.1 }
const READ_WITHIN_MS = 90_000
const OWNER_MS = 30_000
const NOWHERE = 'ws://127.0.0.1:1/'

/** Without 410, which switches a webhook off: deliveries around that are tested by the other part. */
const FAULTS = RECEIVER_FAULTS.filter(({ kind }) => kind !== 'receiver-status')

export const chainReadersKind: PartKind = {
  name: 'chain-readers',
  faults: [...CHAIN_FAULTS, ...FAULTS],
  start: startChainReaders,
}

async function startChainReaders(surroundings: Surroundings): Promise<Part> {
  const { time, random, network, folder } = surroundings
  mkdirSync(folder, { recursive: true })
  const address: SqliteAddress = { engine: 'sqlite', folder, cacheMb: 8, writes: 'inline', sync: 'off' }
  const outside = surroundings.startProcess('readers world')
  const randomBytes = (count: number) => outside.random.bytes(count)
  const plain = openStores(address, outside.clock, { randomBytes })
  const accountsStore = plain.accounts()
  const accounts = createAccounts({ store: accountsStore, plans: PLANS, clock: outside.clock, randomBytes })
  const owner = await accounts.create({ email: 'owner@example.com', plan: 'reader' })
  const ownerKey = await accounts.createKey({ accountId: owner.id, environment: 'test', name: 'owner' })
  await accountsStore.close()
  const jobs = plain.jobs('test')
  const receivers = new Receivers(time, random.stream('receivers'))
  const streamUrls = new Map<SimulatedProcess, string>()
  const streamDraws = random.stream('streams')
  let current: ReaderService | undefined
  const files = new Map<SimulatedProcess, () => Promise<void>>()

  const chain = await startChainPart(surroundings, {
    settings: { ...SMALL_CHAIN, transactionsPerSecond: random.stream('chain').pick([0.03, 0.05]) },
    knownSeq: () => jobs.highestSeq(),
    async extend({ process, stores, tail, watched }) {
      const inner = startReaderService({
        ...{ surroundings, process, address, events: stores.events },
        log: {
          tail,
          watch: (addresses) => watched.watch(addresses),
          receivers,
          async listen(endpoint, port) {
            const listener = await network.listenAs('stream')(endpoint, port)
            streamUrls.set(process, `ws://127.0.0.1:${listener.port}/?api_key=${ownerKey.key}`)
            process.onDeath(() => streamUrls.delete(process))
            return listener
          },
        },
      })
      files.set(process, inner.closeFiles)
      current = await inner.ready
      const service = current
      return { stop: async () => void (await service.stop()) }
    },
    async onDown(process) {
      await files.get(process)?.()
      files.delete(process)
    },
  })
  const truth = new LogTruth(chain.system.reader)
  const wallets = chain.system.world.wallets.map((wallet) => wallet.address)

  const selection = (): Selection => {
    const kinds = random.pick<readonly EventKind[]>([
      ['virtual_chain_changed'],
      ['utxos_changed', 'virtual_chain_changed'],
      ['utxos_changed'],
    ])
    return { kinds, addresses: kinds.includes('utxos_changed') ? [random.pick(wallets)] : [] }
  }
  const pickStream = () => (streamUrls.size === 0 ? NOWHERE : streamDraws.pick([...streamUrls.values()]))
  const facts: WebhookFacts[] = []
  const ownerOf = { accountId: owner.id, keyId: ownerKey.record.id, plan: PLANS.get('reader') }
  for (let index = 0; index < random.int(1, 2); index++) {
    const url = `https://receiver${index}.example.com/hook`
    const asked = { ...selection(), batch: random.chance(0.3) }
    const receiver = receivers.add(url, asked)
    const created = await current?.webhooks?.subscriptions.create(ownerOf, { url, ...asked })
    if (created === undefined) throw new Error('the service is not up')
    receiver.secrets.push(created.secret)
    // Events that were in the log before need not be delivered to this webhook.
    await truth.readOn()
    facts.push({
      id: created.subscription.id,
      receiver,
      optional: [{ afterSeq: 0, upToSeq: truth.newestSeq + 50 }],
    })
  }
  const clients = Array.from({ length: random.int(1, 2) }, (_, index) => {
    const process = surroundings.startProcess(`client ${index}`)
    const dial = network.dialFor(process)
    const parts = { process, dial, url: pickStream, random: random.stream(`client ${index}`) }
    return new StreamClient(`client ${index}`, [selection()], parts)
  })

  async function readerLaws(isComplete: boolean): Promise<string[]> {
    await truth.readOn()
    const upTo =
      truth.events.findLast(({ createdAtMs }) => createdAtMs <= time.nowMs - READ_WITHIN_MS)?.seq ?? 0
    return [
      ...receivers.found.splice(0),
      ...clients.flatMap((client) => client.compare(truth, upTo, isComplete)),
      ...overdrawn(folder),
    ]
  }

  return {
    begin: (fault) => beginReceiverFault(receivers, fault) ?? chain.begin(fault),
    look: async () => [...(await chain.look()), ...(await readerLaws(false))],
    async judge() {
      const wrong = await chain.judge()
      const deliveries = await judgeDeliveries({ jobs, truth, facts, nowMs: time.nowMs - OWNER_MS })
      return [...wrong, ...(await readerLaws(true)), ...deliveries.wrong]
    },
    async stop() {
      for (const client of clients) client.stop()
      await chain.stop()
      await jobs.close()
    },
  }
}
