/** Callers who disconnect: pending work for them is dropped, calls not yet sent are not sent, nothing is charged. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { type ChainService, exactText, startChainService } from '../fakes/chain-service.ts'
import { ADDRESS, type Coin, funds, payment } from '../fakes/real-client.ts'
import { WIDE_PLAN } from '../fakes/service.ts'
import { until } from '../until.ts'

/** One heavy call at a time, so that a slot that is not released is noticed at once. */
const ONE_HEAVY = { ...WIDE_PLAN, name: 'one-heavy', heavyCallsInFlight: 1 }

let chain: ChainService
let coins: Coin[]
before(async () => {
  chain = await startChainService({
    nodes: 1,
    chain: { transactionsPerSecond: 1, reorgsPerMinute: 0, fund: funds(2) },
    plans: [WIDE_PLAN, ONE_HEAVY],
  })
  await chain.healthy(1)
  const { reply } = await chain.call(await chain.key(), 'getUtxosByAddresses', { addresses: [ADDRESS] })
  coins = (reply.result as unknown as { entries: Coin[] }).entries
})
after(() => chain.stop())

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const call = (method: string, params: object = {}) => exactText({ jsonrpc: '2.0', id: 1, method, params })
const hang = (on: boolean) => {
  for (const node of chain.nodes) node.setFaults({ hang: on })
}
const received = (method: string) => chain.nodes[0]?.log.counts()[method] ?? 0

async function spent(key: string): Promise<number> {
  const { credits } = (await chain.get('/v1/limits', key)).json as { credits: { used: number } }
  return credits.used
}

/** Sends a body and cuts the connection as soon as the condition holds. */
async function askAndLeave(
  path: string,
  key: string,
  body: string,
  when: () => boolean,
  headers: Record<string, string> = {},
): Promise<void> {
  const sent = request(`${chain.service.url}${path}`, {
    method: 'POST',
    headers: { 'X-API-Key': key, 'Content-Type': 'application/json', ...headers },
  })
  sent.on('error', () => {})
  sent.end(body)
  await until('the moment to leave', when)
  sent.destroy()
}

test('a heavy call of a caller who left gives its slot and its credits back while the node still hangs', async () => {
  const key = await chain.key({ plan: 'one-heavy', credits: 9 })
  hang(true)
  const before = received('getMempoolEntries')
  await askAndLeave('/rpc', key, call('getMempoolEntries'), () => received('getMempoolEntries') > before)
  // The next call is refused neither for lack of a slot (429) nor for lack of credits (402): it is sent.
  const left = received('getMempoolEntries')
  let next = chain.post(call('getMempoolEntries'), key)
  await until('the next one reaches the node', async () => {
    const early = await Promise.race([next, pause(10)])
    if (early !== undefined) next = chain.post(call('getMempoolEntries'), key)
    return received('getMempoolEntries') > left
  })
  hang(false)
  assert.equal((await next).status, 200)
  assert.equal(await spent(key), 5, 'only the one that was answered is paid')
})

test('what had not left when its caller left does not reach the node', async () => {
  const key = await chain.key({ plan: 'one-heavy' })
  const writer = await chain.key()
  hang(true)
  const [coin] = coins
  assert.ok(coin)
  const batch = `[${call('getMempoolEntries')},${call('getMempoolEntriesByAddresses', { addresses: [ADDRESS] })}]`
  const before = received('getMempoolEntries')
  // The second call of the batch waits for the slot of the first.
  await askAndLeave('/rpc', key, batch, () => received('getMempoolEntries') > before)
  await pause(100)
  hang(false)
  await chain.call(writer, 'getMempoolEntries')
  await pause(200)
  assert.equal(received('getMempoolEntriesByAddresses'), 0)
  assert.equal(await spent(key), 0)
})

test('light calls of callers who left cost nothing and leave nothing behind', async () => {
  const key = await chain.key()
  hang(true)
  const before = received('getSink')
  await Promise.all(
    Array.from({ length: 20 }, () =>
      askAndLeave('/rpc', key, call('getSink'), () => received('getSink') >= before + 20),
    ),
  )
  await pause(100)
  hang(false)
  const { answer } = await chain.call(key, 'getSinkBlueScore')
  assert.equal(answer.status, 200)
  assert.equal(await spent(key), 1)
})

test('a submission with an idempotency key is finished for the one who asks again', async () => {
  const key = await chain.key()
  const coin = coins.pop()
  assert.ok(coin)
  const { id, json } = payment(coin)
  const body = exactText({ transaction: json })
  const headers = { 'Idempotency-Key': 'left-and-back' }
  const before = received('submitTransaction')
  hang(true)
  await askAndLeave(
    '/v1/transactions/submit',
    key,
    body,
    () => received('submitTransaction') > before,
    headers,
  )
  hang(false)
  let again = await chain.submit(key, body, headers)
  for (let left = 600; again.status === 409 && left > 0; left--) {
    await pause(100)
    again = await chain.submit(key, body, headers)
  }
  assert.equal(again.status, 200, again.text)
  assert.equal(again.json.tx_id, id)
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  assert.equal(await spent(key), 15, 'paid once')
})
