/** The service as `npm start` runs it: its own simulated nodes, gone with it, the same chain after a restart. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { after, test } from 'node:test'
import { ask } from '../fakes/client.ts'
import { type ChildService, cliJson, dataFolder, spawnService } from '../fakes/service.ts'

const folder = dataFolder()
const started: ChildService[] = []
after(async () => {
  for (const service of started) await service.kill('SIGKILL')
  folder.remove()
})
const SANDBOX = { env: { TAPELINE_SANDBOX: 'on' } }

async function until(done: () => boolean | Promise<boolean>, what: string, limitMs = 10_000): Promise<void> {
  const endsAt = performance.now() + limitMs
  while (!(await done())) {
    assert.ok(performance.now() < endsAt, `did not happen: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

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

test('two nodes run by default, survive each other, end with the service and resume their chain', async () => {
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
  await until(async () => (await ask(`${first.url}/ready`)).status === 200, 'ready')
  const status = await ask(`${first.url}/v1/status`, { key })
  const nodes = status.json.nodes as { name: string; synced: boolean }[]
  assert.deepEqual(
    nodes.map(({ name, synced }) => [name, synced]),
    [
      ['sandbox-1', true],
      ['sandbox-2', true],
    ],
  )
  const before = await score(first.url, key)
  assert.ok(before > 0)

  const [pid = 0] = nodeProcesses()
  process.kill(pid, 'SIGKILL')
  await until(() => nodeProcesses().some((other) => other !== pid), 'started again')
  await until(async () => (await score(first.url, key)) >= before, 'the same chain goes on', 15_000)

  await first.kill('SIGKILL')
  await until(() => nodeProcesses().length === 0, 'the nodes end with the service')

  const second = await spawnService(folder.path, SANDBOX)
  started.push(second)
  await until(async () => (await score(second.url, key)) >= before, 'the chain of the first start', 15_000)
  assert.equal(await second.kill('SIGTERM'), 0)
  await until(() => nodeProcesses().length === 0, 'a clean stop takes the nodes along')
})
