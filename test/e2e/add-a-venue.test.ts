/**
 * Follows docs/recipes/add-a-venue.md: in a copy of the project a toy venue gets its folder and its line in the list,
 * and nothing else is changed. The service of that copy then checks, records and serves it.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { ask } from '../fakes/client.ts'
import { dataFolder } from '../fakes/service.ts'
import { endAll, scriptedVenue } from '../venues/scripted-venue.ts'
import { toyRest } from '../venues/toy-rest.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const MINUTE_MS = 60_000
const run = promisify(execFile)
const folder = dataFolder()
const project = join(folder.path, 'project')
let env: NodeJS.ProcessEnv
let child: ChildProcess | undefined
/** The other venues cannot be reached, which takes a while to find out. */
let checked: Promise<string>

/** The recipe's two steps. */
function follow(): void {
  const [from, to] = [join(ROOT, 'test/venues/toy'), join(project, 'src/venues/toy')]
  mkdirSync(to)
  for (const file of readdirSync(from)) {
    const text = readFileSync(join(from, file), 'utf8')
    const moved = text.replaceAll('../../../src/venues/', '../').replaceAll('../../../src/', '../../')
    writeFileSync(join(to, file), moved)
  }
  const list = join(project, 'src/venues/list.ts')
  const text = readFileSync(list, 'utf8')
  const added = text
    .replace(
      '\nexport interface',
      "\nimport { toyPlan } from './toy/plan.ts'\nimport { createToy } from './toy/venue.ts'\n\nexport interface",
    )
    .replace(
      'export const VENUES = {\n',
      'export const VENUES = {\n  toy: { create: createToy, plan: toyPlan, sandbox: null },\n',
    )
  assert.notEqual(added, text)
  writeFileSync(list, added)
}

before(async () => {
  mkdirSync(project)
  for (const part of ['src', 'package.json'])
    cpSync(join(ROOT, part), join(project, part), { recursive: true })
  // Already built; nothing in it is about venues.
  cpSync(join(ROOT, 'build/dashboard'), join(project, 'build/dashboard'), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(project, 'node_modules'))
  follow()
  const stream = await scriptedVenue({
    onMessage: (visit) => visit.socket.send(JSON.stringify({ n: 1, coin: 'XBT', px: '5.5', t: Date.now() })),
  })
  const rest = await toyRest()
  const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('TAPELINE_'))
  env = {
    ...Object.fromEntries(clean),
    TAPELINE_DATA: join(folder.path, 'data'),
    TAPELINE_PORT: '0',
    TAPELINE_TEST: 'off',
    TAPELINE_LIVE: 'cexa',
    // The exchange that already has this source cannot be reached.
    TAPELINE_VENUE_HOSTS: [
      ...[`toy.rest=${rest.url}`, `toy.stream=${stream.url}`],
      ...['binance-spot.rest=http://127.0.0.1:9', 'binance-spot.stream=ws://127.0.0.1:9'],
    ].join(),
    TAPELINE_LOG_LEVEL: 'error',
  }
  checked = cli('venues', 'check')
})

after(async () => {
  child?.kill('SIGKILL')
  await endAll()
  rmSync(project, { recursive: true, force: true })
  folder.remove()
})

const cli = async (...args: string[]) =>
  (await run(process.execPath, ['src/main.ts', ...args], { cwd: project, env }).catch((error) => error))
    .stdout as string

test('its settings are listed with those of the others', async () => {
  assert.match(await cli('config'), /toy\.rest=http:/)
})

test('the service records it live and fills its past, and callers get it', async () => {
  const account = JSON.parse(
    await cli('accounts', 'create', '--email', 'a@example.com', '--plan', 'business', '--json'),
  )
  const made = JSON.parse(
    await cli('keys', 'create', '--account', account.id, '--environment', 'live', '--name', 'toy', '--json'),
  )
  const service = spawn(process.execPath, ['src/main.ts', 'serve'], {
    cwd: project,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child = service
  let printed = ''
  service.stdout.on('data', (chunk) => {
    printed += chunk
  })
  const endMs = Date.now() + 180_000
  const dayMs = Math.floor(Date.now() / 86_400_000) * 86_400_000
  const range = `start=${new Date(dayMs - 60 * MINUTE_MS).toISOString()}&end=${new Date(dayMs).toISOString()}`
  for (;;) {
    const [, url] = /listens on (http:\/\/\S+)/.exec(printed) ?? []
    const path = `/v1/candles?symbol=BTC&source=cexa&interval=1m&${range}`
    const json = url === undefined ? {} : (await ask(`${url}${path}`, { key: made.key })).json
    const rows = (Reflect.get(json, 'data') ?? []) as { close: number; closed: boolean }[]
    if (rows.length === 60) {
      assert.ok(rows.every(({ close, closed }) => close === 7.5 && closed))
      return
    }
    assert.ok(Date.now() < endMs, `${printed}\n${JSON.stringify(json).slice(0, 500)}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
})

test('tapeline venues check knows the toy', async () => {
  assert.match(await checked, /toy \(cexa\) at http:\S+: its clock reads \d+/)
})
