/** The page's own calls with answers in any order: an earlier call never undoes a later one. */
import assert from 'node:assert/strict'
import { before, type TestContext, test } from 'node:test'

interface WebCalls {
  callSession(method: string, path: string, body?: unknown): Promise<{ csrf: string }>
  view(environment: string, path: string): Promise<unknown>
  allowance(): { remaining: number; isUsedUp: boolean } | null
}

let calls: WebCalls
before(async () => {
  class Channel {
    postMessage() {}
  }
  Object.assign(globalThis, { BroadcastChannel: Channel, sessionStorage: { getItem: () => null } })
  // Not a plain import: the page's code is checked with the types of a browser.
  calls = (await import(new URL('../../src/dashboard/web/api.ts', import.meta.url).href)) as WebCalls
})

/** Requests wait until the test answers them, in any order. */
function holdRequests(t: TestContext): ((response: Response) => void)[] {
  const answers: ((response: Response) => void)[] = []
  t.mock.method(globalThis, 'fetch', () => new Promise<Response>((resolve) => answers.push(resolve)))
  return answers
}

const sessionOf = (csrf: string, email: string | null) =>
  Response.json({ csrf, user: email === null ? null : { email }, account: null })

test('a session that was requested before a sign-out does not bring it back', async (t) => {
  const answers = holdRequests(t)
  const early = calls.callSession('GET', 'session')
  const signOut = calls.callSession('POST', 'sign-out', {})
  const meanwhile = calls.callSession('GET', 'session')
  answers[1]?.(sessionOf('after', null))
  assert.equal((await signOut).csrf, 'after')
  answers[0]?.(sessionOf('before', 'cleo@example.com'))
  answers[2]?.(sessionOf('before', 'cleo@example.com'))
  assert.deepEqual(
    (await Promise.all([early, meanwhile])).map(({ csrf }) => csrf),
    ['after', 'after'],
  )
  const later = calls.callSession('GET', 'session')
  answers[3]?.(sessionOf('later', 'cleo@example.com'))
  assert.equal((await later).csrf, 'later')
})

test('a cheaper view that is still free does not take back that the free views are used up', async (t) => {
  const answers = holdRequests(t)
  const headers = { 'X-View-Allowance': '100', 'X-View-Allowance-Remaining': '60' }
  const dear = calls.view('test', '/v1/candles?limit=500')
  const cheap = calls.view('test', '/v1/candles?limit=1')
  answers[0]?.(Response.json({ error: 'payment_required', reason: 'allowance' }, { status: 402, headers }))
  await assert.rejects(dear, /free views are used up/)
  const isFree = { ...headers, 'X-View-Allowance-Remaining': '57', 'X-Credits-Price': '3' }
  answers[1]?.(Response.json({}, { headers: isFree }))
  await cheap
  const { remaining, isUsedUp } = calls.allowance() ?? {}
  assert.deepEqual({ remaining, isUsedUp }, { remaining: 57, isUsedUp: true })
})
