/**
 * Must hold: on a network of three real nodes that is cut apart and joined again, and whose nodes are killed,
 * everything that the service recorded, serves and sends equals an independent walk over a node.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { EVENT_KINDS, type EventKind, isChainKind } from '../../src/events/kinds.ts'
import type { StoredEvent } from '../../src/store/events.ts'
import { allEvents, settled } from '../fakes/chain-rig.ts'
import { assertLog } from '../fakes/chain-truth.ts'
import { startReceiver } from '../fakes/receiver.ts'
import { storesIn } from '../fakes/stores.ts'
import { connectStream } from '../fakes/stream-client.ts'
import { until } from '../until.ts'
import { startCutStream } from './cut-stream.ts'
import {
  judgeAddress,
  judgeCovenants,
  judgeFees,
  judgeTokenEvents,
  judgeTokens,
  judgeTransaction,
} from './judge.ts'
import { keepSending, startLiveTraffic } from './live-traffic.ts'
import { keepMining } from './mine.ts'
import { type RealNetwork, startRealNetwork } from './network.ts'
import { withoutNode } from './real-node.ts'
import { type RealService, startRealService } from './real-service.ts'
import { walk } from './walk.ts'

const SECONDS = Number(process.env.TAPELINE_REAL_NODE_SECONDS ?? (process.env.TAPELINE_SOAK ? 3_600 : 120))
const TRANSACTIONS_PER_SECOND = 50
const BLOCKS_PER_SECOND = 10
/** Nodes are cut off for some seconds in each round, and one is killed in every fourth. */
const ROUND_MS = process.env.TAPELINE_SOAK ? 60_000 : 20_000
const CUT_MS = 6_000
const STREAM_CUT_MS = 800
const LOOKED_UP = 300

test(`${SECONDS} s of a network that is cut apart and whose nodes are killed`, {
  skip: withoutNode,
  timeout: (SECONDS + 600) * 1_000,
}, async (t) => {
  const network = await startRealNetwork(3)
  t.after(() => network.stop())
  const [first, , last] = network.nodes
  assert.ok(first && last)
  // Its coins are those of a node that is cut off, but never killed.
  const traffic = await startLiveTraffic(last)
  t.after(() => traffic.close())
  await network.agreed()
  const service = await startRealService(network.nodes, { TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on' })
  t.after(() => service.stop())
  await service.healthy(3)
  await service.indexed(first)

  const addresses = traffic.users.map(({ address }) => address)
  const order = { kinds: EVENT_KINDS, addresses }
  const stream = startCutStream(service.service.url, service.key, order, STREAM_CUT_MS)
  t.after(() => stream.end())
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const hook = await service.post('/v1/webhooks', { url: receiver.url, ...order, batch: true })
  assert.equal(hook.status, 201, hook.text)
  const hookFrom = await newestSeq(service)

  const each = BLOCKS_PER_SECOND / network.nodes.length
  const miners = network.nodes.map((node) => keepMining(node, traffic.minerAddress, each))
  const sending = keepSending(traffic, TRANSACTIONS_PER_SECOND)
  t.after(() => Promise.all([sending.stop(), ...miners.map((miner) => miner.stop())]))
  const before = traffic.submitted.size
  const disturbed = await disturb(network, performance.now() + SECONDS * 1_000)
  const perSecond = Math.round(((traffic.submitted.size - before) * 10) / SECONDS) / 10
  await sending.stop()
  // Pending transactions are mined.
  await wait(5_000)
  await Promise.all(miners.map((miner) => miner.stop()))
  await network.agreed()
  await service.indexed(last)
  // An answer from before is kept for half a second, by the nodes and by the service.
  await wait(1_500)
  await judgeFees(service, network.nodes)

  const truth = await walk(last, traffic.users)
  const database = storesIn(service.service.folder).chain('live', { inline: true })
  await settled(database)
  const log = await allEvents(database)
  await database.close()
  const startScore = startScoreOf(log, truth.truth.chain())
  let rows = 0
  for (const address of addresses)
    rows += await judgeAddress(service, { node: last, walk: truth, address, startScore })
  const recent = [...truth.accepted.values()].filter((one) => Number(one.acceptingBlueScore) > startScore)
  const step = Math.max(1, Math.floor(recent.length / LOOKED_UP))
  for (const { transactionId } of recent.filter((_, i) => i % step === 0))
    await judgeTransaction(service, truth, transactionId)

  const covenants = await judgeCovenants(service, truth)
  assert.ok(covenants > 0)
  const holders = await judgeTokens(service, truth)
  assert.ok(holders > 0)
  const { retractions } = assertLog(log, truth)
  const tokenRetractions = judgeTokenEvents(log, truth)
  const wanted = log.filter(
    (event) =>
      isChainKind(event.kind as EventKind) || event.addresses.some((address) => addresses.includes(address)),
  )
  await stream.finish(wanted.at(-1)?.seq ?? 0)
  assert.deepEqual(
    stream.events.map(({ seq, id }) => `${seq} ${id}`),
    wanted.map(({ seq, id }) => `${seq} ${id}`),
    'the stream, cut again and again, has every event once',
  )
  assert.deepEqual(stream.gaps, [])
  const deliverable = wanted.filter(({ seq }) => seq > hookFrom)
  const missing = () => deliverable.filter(({ id }) => !receiver.accepted.has(id))
  await until('all deliveries', () => missing().length === 0, 120_000)
  const said = {
    perSecond,
    blocks: miners.reduce((sum, { made }) => sum + made, 0),
    retractions,
    tokenRetractions,
    rows,
    holders,
    cuts: stream.cuts,
    events: log.length,
    accepted: recent.length,
    covenants,
    ...disturbed,
  }
  report(t, said, log, traffic.refusals)
})

async function newestSeq({ service, key }: RealService): Promise<number> {
  const client = connectStream(service.url, key)
  const { seq } = await client.next('welcome')
  client.close()
  return Number(seq)
}

/** The log begins with the first block after the one at which the index started. */
function startScoreOf(
  log: readonly StoredEvent[],
  chain: readonly { hash: string; blueScore: bigint }[],
): number {
  const change = log.find(({ kind }) => kind === 'virtual_chain_changed')
  const { added } = (JSON.parse(change?.text ?? '{}') as { data: { added: string[] } }).data
  const at = chain.findIndex(({ hash }) => hash === added[0])
  assert.ok(at > 0, 'the first recorded block is in the chain')
  return Number(chain[at - 1]?.blueScore)
}

/** Cuts and kills nodes until then; ends with all nodes connected. */
async function disturb(network: RealNetwork, untilMs: number): Promise<{ cutOff: number; killed: number }> {
  const said = { cutOff: 0, killed: 0 }
  const mortal = network.nodes.slice(0, -1)
  for (let round = 0; performance.now() + ROUND_MS < untilMs; round++) {
    const endsAtMs = performance.now() + ROUND_MS
    const node = mortal[Math.floor(round / 2) % mortal.length]
    assert.ok(node)
    await wait(ROUND_MS / 4)
    if (round % 4 === 3) {
      await network.kill(node)
      said.killed += 1
      await wait(CUT_MS / 2)
      await network.restart(node)
    } else {
      // In every other round into three parts: the followed node loses more often than not.
      const cut = round % 2 === 0 ? [node] : mortal
      for (const each of cut) network.cut(each)
      said.cutOff += cut.length
      await wait(CUT_MS)
      for (const each of cut) await network.join(each)
    }
    await wait(Math.max(0, endsAtMs - performance.now()))
  }
  await wait(Math.max(0, untilMs - performance.now()))
  return said
}

function report(
  t: TestContext,
  said: Record<string, number>,
  log: readonly StoredEvent[],
  refusals: readonly string[],
): void {
  const entries = log.filter(({ kind }) => kind === 'mempool_entry')
  const fromBlock = entries.filter(({ text }) => text.includes('"first_seen":"block"')).length
  const removed = log.flatMap(({ kind, text }) =>
    kind === 'virtual_chain_changed'
      ? [(JSON.parse(text) as { data: { removed: string[] } }).data.removed.length]
      : [],
  )
  t.diagnostic(
    JSON.stringify({
      ...said,
      ...{ mempoolEntries: entries.length, seenInBlockFirst: fromBlock, refusedByTheNode: refusals.length },
      ...{ reorganisations: removed.filter((count) => count > 0).length, deepest: Math.max(0, ...removed) },
    }),
  )
}
