/** The simulated nodes of the service as `npm start` runs it. `whole-service` tests their end and their restart. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { addressOfScript } from '../../sandbox/node/consensus/address.ts'
import { createWallet } from '../../sandbox/node/traffic/wallet.ts'
import { ask } from '../fakes/client.ts'
import { type SandboxService, useSandboxService } from '../fakes/sandbox-service.ts'
import { cli, cliJson } from '../fakes/service.ts'
import { chainScore, isRunning, killNode, serviceNodes } from '../fakes/service-nodes.ts'
import { until } from '../until.ts'

/** The key allows 50 requests a second. */
const ASK_EVERY_MS = 250

const sandbox = useSandboxService()
let used: SandboxService
before(async () => {
  used = await sandbox()
})

/** Test coins from the command line: the control port is in the log, the payment in the history of the address. */
async function payAndFind({ service, key, dataInside: folder }: SandboxService): Promise<void> {
  assert.match(
    service.printed(),
    /"control":"http:\/\/127\.0\.0\.1:\d+ http:\/\/\S+","msg":"simulated nodes are up"/,
  )
  const to = addressOfScript('kaspatest', createWallet(Date.now(), 'customer').script) ?? ''
  const paid = await cliJson(folder, ['sandbox', 'pay', '--to', to, '--amount', '12.5'])
  const history = `${service.url}${String(paid.history).replace('GET ', '')}`
  const found = async () =>
    (await ask(history, { key })).json.items as { tx_id: string; amount_sompi: number; direction: string }[]
  await until('the payment in the history', async () => (await found()).length === 1, 60_000, ASK_EVERY_MS)
  const [item] = await found()
  assert.equal(item?.tx_id, paid.transaction_id)
  assert.deepEqual([item?.direction, item?.amount_sompi], ['receive', 1_250_000_000])
  const wallets = await cliJson<{ address: string; secret: string }[]>(folder, ['sandbox', 'wallets'])
  assert.ok(wallets.every(({ address, secret }) => address.startsWith('kaspatest:') && secret.length === 64))
  const wrong = await cli(folder, ['sandbox', 'pay', '--to', `${to}x`, '--amount', '1'])
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /^The sandbox refuses: /)
  const half = await cli(folder, ['sandbox', 'pay', '--to', to, '--amount', '0.000000001'])
  assert.equal(half.code, 2)
}

test('two nodes run by default, take payments of test coins and continue their chain after a kill', async () => {
  const { service, key, dataInside } = used
  await until('ready', async () => (await ask(`${service.url}/ready`)).status === 200, 180_000, ASK_EVERY_MS)
  type Node = { name: string; synced: boolean }
  const nodes = async () => (await ask(`${service.url}/v1/status`, { key })).json.nodes as Node[]
  assert.deepEqual(
    (await nodes()).map(({ name }) => name),
    ['sandbox-1', 'sandbox-2'],
  )
  // A node that did not answer two probes counts as down until it has answered three.
  await until('both synced', async () => (await nodes()).every(({ synced }) => synced), 180_000, ASK_EVERY_MS)
  await payAndFind(used)
  const before = await chainScore(service.url, key)
  assert.ok(before > 0)

  const killed = serviceNodes(dataInside)
  assert.equal(killed.length, 2)
  for (const node of killed) await killNode(node)
  const isStartedAgain = () =>
    /"thread":"simulated nodes".*"msg":"a thread ended and is started again"/.test(service.printed())
  await until('started again', isStartedAgain)
  await until(
    'on the same ports',
    async () => (await Promise.all(killed.map(isRunning))).every(Boolean),
    60_000,
    ASK_EVERY_MS,
  )
  await until(
    'the same chain goes on',
    async () => (await chainScore(service.url, key)) >= before,
    60_000,
    ASK_EVERY_MS,
  )
})
