/** The service as `npm start` runs it: its own simulated nodes, gone with it, the same chain after a restart. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { after, test } from 'node:test'
import { addressOfScript } from '../../sandbox/node/consensus/address.ts'
import { createWallet } from '../../sandbox/node/traffic/wallet.ts'
import { ask } from '../fakes/client.ts'
import { type ChildService, cli, cliJson, dataFolder, spawnService } from '../fakes/service.ts'
import { until } from '../until.ts'

const folder = dataFolder()
const started: ChildService[] = []
after(async () => {
  for (const service of started) await service.kill('SIGKILL')
  folder.remove()
})
const SANDBOX = { env: { TAPELINE_SANDBOX: 'on', TAPELINE_LOG_LEVEL: 'info' } }

/** The process of the simulated nodes on this data folder. */
function nodeProcesses(): number[] {
  const lines = execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' }).split('\n')
  return lines
    .filter((line) => line.includes('sandbox/node/process.ts') && line.includes(folder.path))
    .map((line) => Number.parseInt(line, 10))
}

async function score(url: string, key: string): Promise<number> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"getBlockDagInfo"}'
  const headers = { 'Content-Type': 'application/json' }
  const answer = await ask(`${url}/rpc`, { method: 'POST', key, body, headers })
  return Number(Object(answer.json.result).virtualDaaScore)
}

/** Test coins from the command line: the control port is in the log, the payment in the history of the address. */
async function payAndFind(service: ChildService, key: string): Promise<void> {
  assert.match(
    service.printed(),
    /"control":"http:\/\/127\.0\.0\.1:\d+ http:\/\/\S+","msg":"simulated nodes are up"/,
  )
  const to = addressOfScript('kaspatest', createWallet(Date.now(), 'customer').script) ?? ''
  const paid = await cliJson(folder.path, ['sandbox', 'pay', '--to', to, '--amount', '12.5'])
  const history = `${service.url}${String(paid.history).replace('GET ', '')}`
  const found = async () =>
    (await ask(history, { key })).json.items as { tx_id: string; amount_sompi: number; direction: string }[]
  await until('the payment in the history', async () => (await found()).length === 1)
  const [item] = await found()
  assert.equal(item?.tx_id, paid.transaction_id)
  assert.deepEqual([item?.direction, item?.amount_sompi], ['receive', 1_250_000_000])
  const wallets = await cliJson<{ address: string; secret: string }[]>(folder.path, ['sandbox', 'wallets'])
  assert.ok(wallets.every(({ address, secret }) => address.startsWith('kaspatest:') && secret.length === 64))
  const wrong = await cli(folder.path, ['sandbox', 'pay', '--to', `${to}x`, '--amount', '1'])
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /^The sandbox refuses: /)
  const half = await cli(folder.path, ['sandbox', 'pay', '--to', to, '--amount', '0.000000001'])
  assert.equal(half.code, 2)
}

test('two nodes run by default, take payments of test coins, survive each other, end with the service and resume their chain', async () => {
  const first = await spawnService(folder.path, SANDBOX)
  started.push(first)
  const account = await cliJson(folder.path, [
    'accounts',
    'create',
    '--email',
    'a@example.com',
    '--plan',
    'business',
  ])
  const made = await cliJson(folder.path, [
    ...['keys', 'create', '--account', String(account.id)],
    ...['--environment', 'test', '--name', 'k'],
  ])
  const key = String(made.key)
  await until('ready', async () => (await ask(`${first.url}/ready`)).status === 200)
  const status = await ask(`${first.url}/v1/status`, { key })
  const nodes = status.json.nodes as { name: string; synced: boolean }[]
  assert.deepEqual(
    nodes.map(({ name, synced }) => [name, synced]),
    [
      ['sandbox-1', true],
      ['sandbox-2', true],
    ],
  )
  await payAndFind(first, key)
  const before = await score(first.url, key)
  assert.ok(before > 0)

  const [pid = 0] = nodeProcesses()
  process.kill(pid, 'SIGKILL')
  await until('started again', () => nodeProcesses().some((other) => other !== pid))
  await until('the same chain goes on', async () => (await score(first.url, key)) >= before, 15_000)

  await first.kill('SIGKILL')
  await until('the nodes end with the service', () => nodeProcesses().length === 0)

  const second = await spawnService(folder.path, SANDBOX)
  started.push(second)
  await until('the chain of the first start', async () => (await score(second.url, key)) >= before, 15_000)
  assert.equal(await second.kill('SIGTERM'), 0)
  const stopped = await cli(folder.path, ['sandbox', 'pay', '--to', 'kaspatest:x', '--amount', '1'])
  assert.match(stopped.stderr, /^No sandbox runs on the data folder .* start the service there first/)
  await until('a clean stop takes the nodes along', () => nodeProcesses().length === 0)
})
