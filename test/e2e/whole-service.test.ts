/** What a newcomer does: start, the README's lines as printed, kill, start again, stop. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { ask } from '../fakes/client.ts'
import { type ChildService, cli, dataFolder, printedKey, spawnService } from '../fakes/service.ts'
import { chainScore, isRunning, serviceNodes } from '../fakes/service-nodes.ts'
import { promisedMs } from '../promised-ms.ts'
import { until } from '../until.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)
const folder = dataFolder()
/** The key allows 50 requests a second. */
const ASK_EVERY_MS = 100
const env = { TAPELINE_SANDBOX: 'on', TAPELINE_FIRST_FILL_DAYS: '31' }
let service: ChildService
let key: string
before(async () => {
  service = await spawnService(folder.path, { env })
  key = await printedKey(service)
})
after(async () => {
  await service?.kill('SIGKILL')
  folder.remove()
})

/** The lines of the README's second block of commands, with their continuations. */
function readmeLines(): string[] {
  const blocks = [...readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(/```sh\n([\s\S]*?)```/g)]
  const text = blocks[1]?.[1] ?? ''
  return text
    .replaceAll('\\\n', '')
    .split('\n')
    .filter((line) => line.startsWith('curl '))
}

test('three curl lines of the README work as printed, while the past is still being filled', async () => {
  const candles = () => ask(`${service.url}/v1/candles?symbol=BTC&source=cexa&limit=1`, { key })
  const endsAt = performance.now() + 180_000
  while ((await candles()).headers.get('x-rows-returned') !== '1' && performance.now() < endsAt) {
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const lines = readmeLines()
  assert.equal(lines.length, 3)
  const answers: Record<string, unknown>[] = []
  for (const line of lines) {
    const command = line.replaceAll('http://127.0.0.1:8080', service.url)
    assert.notEqual(command, line, 'it asks the default address')
    const { stdout } = await run('sh', ['-c', command], { env: { ...process.env, KEY: key } })
    answers.push(JSON.parse(stdout))
  }
  const [limits, page, preview] = answers
  assert.equal(limits?.plan, 'business')
  assert.ok(Array.isArray(page?.data) && page.data.length > 0)
  assert.equal(preview?.dry_run, true)
})

test('the command line runs through npm and through the bin, with the Node that the project pins', async () => {
  const own = { ...process.env, TAPELINE_DATA: folder.path }
  const byNpm = await run('npm', ['run', '-s', 'tapeline', '--', 'config', '--json'], { cwd: ROOT, env: own })
  const settings = JSON.parse(byNpm.stdout) as { setting: string }[]
  assert.ok(settings.length > 10)
  const byBin = await run(join(ROOT, 'bin/tapeline'), ['config', '--json'], { env: own })
  assert.deepEqual(JSON.parse(byBin.stdout), settings)
  const { version } = JSON.parse(
    readFileSync(join(ROOT, 'node_modules', `node-linux-${process.arch}`, 'package.json'), 'utf8'),
  ) as { version: string }
  assert.equal(process.version, `v${version}`)
})

test('the lock file has the pinned Node for both kinds of machine', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; cpu?: string | string[]; os?: string | string[] }>
  }
  for (const cpu of ['x64', 'arm64']) {
    const entry = packages[`node_modules/node-linux-${cpu}`]
    assert.deepEqual([entry?.cpu, entry?.os].flat(), [cpu, 'linux'])
    assert.equal(`v${entry?.version}`, process.version)
  }
})

const areRunning = async () =>
  (await Promise.all(serviceNodes(folder.path).map(isRunning))).some((isOne) => isOne)

test('the simulated nodes end with a service that is killed, and the next one continues their chain', async () => {
  let before = 0
  const isFollowed = async () => {
    before = await chainScore(service.url, key)
    return before > 0
  }
  await until('a chain', isFollowed, 60_000, ASK_EVERY_MS)
  assert.ok(await areRunning())
  await service.kill('SIGKILL')
  await until('the nodes end with the service', async () => !(await areRunning()))
  service = await spawnService(folder.path, { env })
  await until(
    'the chain of the first start',
    async () => (await chainScore(service.url, key)) >= before,
    60_000,
    ASK_EVERY_MS,
  )
})

test('in the middle of filling its past the whole service stops in time', async () => {
  const startedMs = performance.now()
  const code = await service.kill('SIGTERM')
  assert.equal(code, 0, service.printed())
  assert.ok(performance.now() - startedMs < promisedMs(10_000), `${performance.now() - startedMs} ms`)
})

test('a clean stop ends the simulated nodes, and the command line says that none run', async () => {
  const stopped = await cli(folder.path, ['sandbox', 'pay', '--to', 'kaspatest:x', '--amount', '1'])
  assert.match(stopped.stderr, /^No sandbox runs on the data folder .* start the service there first/)
  await until('a clean stop takes the nodes along', async () => !(await areRunning()))
})
