import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { ApiError } from '../core/errors.ts'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import { createLogger } from '../kit/log.ts'
import { createDashboard, DASHBOARD_API } from './dashboard.ts'

/** What a call that fails with the error is answered with, and what the log has of it. */
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
  // A link in a mail.
  assert.equal(await statusOf('none', 'navigate'), 403)
  assert.equal(await statusOf('same-origin', 'navigate', 'usage.csv'), 404)
})
