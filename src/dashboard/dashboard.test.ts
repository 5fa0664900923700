import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { ApiError } from '../core/errors.ts'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import { createLogger } from '../kit/log.ts'
import { createDashboard, DASHBOARD_API } from './dashboard.ts'
import type { DashboardRoute, SignedIn } from './route.ts'
import { startRoutes } from './routes/start.ts'
import { viewRoutes } from './routes/view.ts'

/** The answer to a call that fails with the error, and the log lines about it. */
async function answerTo(error: Error, headers: IncomingHttpHeaders = {}, name = 'thing') {
  const lines: string[] = []
  const dashboard = createDashboard({
    site: { find: async () => undefined },
    routes: [
      {
        method: 'GET',
        path: `${DASHBOARD_API}${name}`,
        access: 'open',
        run: async () => Promise.reject(error),
      },
    ],
    users: {} as never,
    cookies: { read: () => undefined } as never,
    billing: undefined,
    log: createLogger({ level: 'info', write: (line) => void lines.push(line) }),
  })
  const reply = await dashboard.handle({
    id: 'req_1',
    method: 'GET',
    path: `${DASHBOARD_API}${name}`,
    search: '',
    headers,
    address: '127.0.0.1',
    body: undefined,
  })
  const at = reply?.headers.indexOf('Retry-After') ?? -1
  return { status: reply?.status, retryAfter: at < 0 ? undefined : reply?.headers[at + 1], lines }
}

test('a store that is away is 503 with Retry-After, and no line of the log for every call', async () => {
  const away = await answerTo(new StoreUnavailableError('the server is away'))
  assert.deepEqual(away, { status: 503, retryAfter: '5', lines: [] })
})

test('an error of the API keeps its headers; an unknown one is in the log', async () => {
  const limited = await answerTo(new ApiError('rate_limit_exceeded', 'Later.', {}, [['Retry-After', '7']]))
  assert.deepEqual(limited, { status: 429, retryAfter: '7', lines: [] })
  const unknown = await answerTo(new Error('what?'))
  assert.deepEqual([unknown.status, unknown.lines.length], [500, 1])
})

test('a call that another site makes, or that is navigated to, is refused', async () => {
  const statusOf = async (site: string | undefined, mode: string, name?: string) => {
    const headers = { ...(site === undefined ? {} : { 'sec-fetch-site': site }), 'sec-fetch-mode': mode }
    return (await answerTo(new ApiError('not_found', 'It ran.'), headers, name)).status
  }
  for (const site of ['cross-site', 'same-site']) {
    for (const mode of ['navigate', 'no-cors', 'cors']) assert.equal(await statusOf(site, mode), 403)
    assert.equal(await statusOf(site, 'navigate', 'usage.csv'), 403)
  }
  assert.equal(await statusOf('same-origin', 'cors'), 404)
  assert.equal(await statusOf(undefined, 'cors'), 404)
  // A link in an e-mail.
  assert.equal(await statusOf('none', 'navigate'), 403)
  assert.equal(await statusOf('same-origin', 'navigate', 'usage.csv'), 404)
})

test('a view ends when its browser has left; a replay goes on', async () => {
  const seen: [string, boolean][] = []
  const routes = viewRoutes({
    view: async ({ path, isGone }) => {
      seen.push([path, isGone?.() ?? false])
      return { status: 200, headers: [], body: '' }
    },
  })
  for (const [name, method, path] of [
    ['view', 'GET', 'candles'],
    ['view', 'POST', 'webhooks/wh_1/replay'],
    ['try', 'POST', 'rpc'],
    ['try', 'POST', 'v1/webhooks/wh_1/replay'],
  ]) {
    const route = routes.find((one) => one.method === method && one.path.includes(`/${name}/`))
    const request = { method, headers: {}, isGone: () => true }
    await route?.run({
      request,
      accountId: 'acc',
      params: { environment: 'test', path },
    } as never as SignedIn)
  }
  assert.deepEqual(seen, [
    ['/v1/candles', true],
    ['/v1/webhooks/wh_1/replay', false],
    ['/rpc', true],
    ['/v1/webhooks/wh_1/replay', false],
  ])
})

test('the first answer has long views whole, written in short pieces', async () => {
  // Surrogate pairs at every position at which the text can be cut.
  const text = JSON.stringify({ quoted: `"${'\u{1f4c8}'.repeat(100_000)}"`, odd: 'é\n' })
  const session = {
    cookies: { read: () => 'token', csrfOf: () => '' },
    users: { findSession: async () => ({ user: { accountId: 'acc' } }) },
    accounts: { get: async () => undefined },
    plans: { list: () => [] },
    notices: { current: async () => [] },
    environments: ['test'],
  }
  const [start] = startRoutes({
    session: session as never,
    view: async () => ({ status: 200, headers: ['X-Credits-Price', '7'], body: [Buffer.from(text)] }),
    allowanceOf: async () => ({ limit: 1, remaining: 1 }) as never,
  })
  const asked = ['/v1/candles?a=1', '/v1/limits']
  const query = new URLSearchParams(asked.map((path) => ['view', path]))
  const reply = await start?.run({ request: { headers: {} }, query } as never as SignedIn)
  const parts = reply?.body as Buffer[]
  const { views } = JSON.parse(Buffer.concat(parts).toString())
  assert.deepEqual(
    views,
    asked.map((path) => ({ path, price: 7, value: text })),
  )
  assert.ok(Math.max(...parts.map(({ length }) => length)) < 200_000)

  const dashboard = createDashboard({
    ...{ site: { find: async () => undefined }, routes: [start as DashboardRoute], billing: undefined },
    ...{ users: session.users as never, cookies: session.cookies as never },
    log: createLogger({ level: 'silent' }),
  })
  const sent = await dashboard.handle({
    ...{ id: 'req_1', method: 'GET', path: `${DASHBOARD_API}start`, search: `?${query}` },
    ...{ headers: {}, address: '127.0.0.1', body: undefined },
  })
  assert.equal(sent?.readBy, 'acc', 'while nobody reads it, it counts for the account')
})
