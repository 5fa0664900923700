/** The command line as operators' scripts use it, while the service runs on the same folder. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { ask } from '../fakes/client.ts'
import { type ChildService, cli, cliJson, dataFolder, printedKey, spawnService } from '../fakes/service.ts'
import { storesIn } from '../fakes/stores.ts'
import { promisedMs } from '../promised-ms.ts'
import { until } from '../until.ts'

const folder = dataFolder()
let service: ChildService
before(async () => {
  service = await spawnService(folder.path)
})
after(async () => {
  await service.kill('SIGKILL')
  folder.remove()
})

const env = () => ({ TAPELINE_PLANS: `${folder.path}/plans.json` })
const tapeline = (...args: string[]) => cliJson(folder.path, args, env())
const status = async (key: string) => (await ask(`${service.url}/v1/limits`, { key })).status

/** The service picks up changes within a second. */
const within = (key: string, expected: number) =>
  until(`${expected}`, async () => (await status(key)) === expected, promisedMs(1_000), 25)

test('the first start prints a test key once, with a curl line that works', async () => {
  const key = await printedKey(service)
  assert.equal(await status(key), 200)
  assert.ok(service.printed().includes(`curl -H 'X-API-Key: ${key}' ${service.url}/v1/limits`))
  const accounts = (await tapeline('accounts', 'list')) as unknown as { email: string; plan: string }[]
  assert.deepEqual(
    accounts.map(({ plan }) => plan),
    ['business'],
  )
})

test('accounts and keys are created, paused, resumed, revoked; the service follows within one second', async () => {
  const account = await tapeline('accounts', 'create', '--email', 'a@example.com', '--plan', 'business')
  assert.equal(account.plan, 'business')
  const id = String(account.id)
  const created = await tapeline('keys', 'create', '--account', id, '--environment', 'test', '--name', 'ci')
  const key = String(created.key)
  assert.match(key, /^svc_test_[0-9A-Za-z]{38}$/)
  assert.equal(await status(key), 200, 'a new key works at once')

  const paused = await tapeline('accounts', 'pause', '--account', id)
  // A payment that arrives would end a pause for payment.
  assert.deepEqual([paused.state, paused.paused_reason], ['paused', 'operator'])
  await within(key, 403)
  assert.equal((await tapeline('accounts', 'resume', '--account', id)).state, 'active')
  await within(key, 200)

  const credits = await tapeline('accounts', 'credits', '--account', id, '--set', '40')
  assert.equal(credits.test_remaining, 40)
  // The account had much more before.
  const limits = async () => (await ask(`${service.url}/v1/limits`, { key })).json
  const remaining = async () => ((await limits()).credits as { remaining: number }).remaining
  await until('40 credits', async () => (await remaining()) === 40, promisedMs(1_000), 25)
  const paid = await ask(`${service.url}/v1/sources`, { key })
  assert.equal(paid.headers.get('x-credits-remaining'), '15')
  assert.equal((await ask(`${service.url}/v1/sources`, { key })).status, 402)

  await tapeline('accounts', 'set-plan', '--account', id, '--plan', 'free')
  // The credits that this process still holds on lease are given back a moment after the plan is known.
  const limit = async () => ((await limits()).credits as { limit: number } | undefined)?.limit
  await until('its credits', async () => (await limit()) === 1_000_000, promisedMs(1_000), 250)
  // The plan allows five requests a second: waits until the earlier requests no longer count.
  await setTimeout(1_100)
  assert.equal((await limits()).plan, 'free')

  const rotated = await tapeline('keys', 'rotate', '--key', String(created.id), '--overlap-hours', '0')
  assert.equal(await status(String(rotated.key)), 200)
  await within(key, 401)
  assert.equal((await tapeline('keys', 'revoke', '--key', String(rotated.id))).state, 'revoked')
  await within(String(rotated.key), 401)

  const listed = (await tapeline('keys', 'list', '--account', id)) as unknown as { state: string }[]
  assert.deepEqual(listed.map(({ state }) => state).sort(), ['expired', 'revoked'])
  const usage = (await tapeline('usage', '--account', id)) as unknown as {
    endpoint: string
    credits: number
  }[]
  assert.equal(usage.find(({ endpoint }) => endpoint === 'GET /v1/sources')?.credits, 25)
})

test('mistakes are reported in one sentence: exit code 2 where the command is wrong, 1 where it fails', async () => {
  const cases: [string[], RegExp, number][] = [
    [['acounts', 'list'], /Did you mean "accounts list"\?/, 2],
    [
      ['accounts'],
      /^"accounts" needs one more word\.[\s\S]*accounts create +Creates[\s\S]*accounts credits/,
      2,
    ],
    [['accounts', 'lst'], /Did you mean "accounts list"\?/, 2],
    [['keys', 'create', '--acount', 'x'], /--acount[\s\S]*tapeline keys create:/, 2],
    [
      ['accounts', 'create', '--email', 'a@b.c', '--plan', 'gold'],
      /Plans: free, developer, business, wide/,
      1,
    ],
    [['accounts', 'create', '--email', 'demo@localhost'], /exists already/, 1],
    [['accounts', 'pause', '--account', 'acc_0'], /There is no account acc_0/, 1],
    [['keys', 'revoke'], /--key is missing/, 2],
  ]
  const results = await Promise.all(cases.map(([args]) => cli(folder.path, args, env())))
  for (const [index, result] of results.entries()) {
    const [args, message, code] = cases[index] ?? [[], /x/, 0]
    assert.equal(result.code, code, args.join(' '))
    assert.match(result.stderr, message)
    assert.doesNotMatch(result.stderr, /\n\s+at /, 'no stack')
  }
})

test('a reader that ends early (`| head`) does not end a command', async () => {
  const child = spawn(process.execPath, ['src/main.ts', 'openapi'], { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  const [[code], complaint] = await Promise.all([once(child, 'exit'), text(child.stderr)])
  assert.deepEqual([code, complaint], [0, ''])
})

test('the output is tables and help unless --json is given', async () => {
  const [list, help, one, ...more] = await Promise.all([
    cli(folder.path, ['accounts', 'list'], env()),
    cli(folder.path, ['--help']),
    cli(folder.path, ['keys', 'create', '--help']),
    cli(folder.path, ['help', 'accounts']),
    cli(folder.path, ['accounts', '--help']),
    cli(folder.path, ['help', 'accounts', 'create']),
  ])
  for (const { code, stdout, stderr } of more) {
    assert.equal(code, 0)
    assert.equal(stderr, '')
    assert.match(stdout, /accounts create/)
    assert.doesNotMatch(stdout, /keys revoke/)
  }
  assert.match(list.stdout, /^id +email +plan +state/)
  assert.match(help.stdout, /keys rotate/)
  assert.equal(one.code, 0)
  assert.match(one.stdout, /--environment +test or live\. \(required\)/)
})

test('a plans file that cannot be read stops with one sentence', async () => {
  const absent = await cli(folder.path, ['accounts', 'list'], { TAPELINE_PLANS: '/no/such/plans.json' })
  assert.equal(absent.code, 1)
  assert.match(absent.stderr, /TAPELINE_PLANS|plans file/)
  assert.doesNotMatch(absent.stderr, /\n\s+at /)
})

test('commands mean the environment that is switched on unless one is named', async () => {
  const off = { ...env(), TAPELINE_TEST: 'off', TAPELINE_LIVE: 'cexa' }
  const gaps = (more: string[], which: Record<string, string>) =>
    cliJson<unknown[]>(folder.path, ['gaps', '--dataset', 'candles', ...more], which)
  const store = await storesIn(folder.path).environment('live')
  const feed = { dataset: 'candles', source: 'cexa', symbol: 'BTC', interval: '1h' } as const
  try {
    const bar = { open: 1, high: 9, low: 1, close: 2, volume: 1, closed: true }
    await store.write({
      rows: [{ feed, rows: [{ ...bar, time: Math.floor(Date.now() / 3_600_000 - 2) * 3_600_000 }] }],
    })
  } finally {
    await store.close()
  }
  assert.equal((await gaps([], off)).length, (await gaps(['--environment', 'live'], env())).length)
  assert.ok((await gaps([], off)).length > (await gaps([], env())).length)
})

test('old versions of a corrected row can be read with revisions', async () => {
  const store = await storesIn(folder.path).environment('test')
  const feed = { dataset: 'candles', source: 'cexa', symbol: 'BTC', interval: '1m' } as const
  const bar = { time: Date.UTC(2026, 2, 14), open: 1, high: 9, low: 1, volume: 1, closed: true }
  try {
    await store.write({ rows: [{ feed, rows: [{ ...bar, close: 2 }] }] })
    await store.write({ rows: [{ feed, rows: [{ ...bar, close: 3 }] }] })
  } finally {
    await store.close()
  }
  const range = ['--from', '2026-03-14', '--to', '2026-03-15']
  const found = (await tapeline('revisions', '--source', 'cexa', ...range)) as unknown as {
    revision: number
    row: string
  }[]
  assert.equal(found.length, 1)
  assert.equal(found[0]?.revision, 1)
  assert.equal(JSON.parse(found[0]?.row ?? '{}').close, 2)
  const none = await tapeline('revisions', '--source', 'perpdex', ...range)
  assert.deepEqual(none, [])
})
