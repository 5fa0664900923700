/** Password guesses through the real HTTP interface: slow for the guesser, but the owner is never locked out. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestService, type TestService } from '../fakes/service.ts'
import { PASSWORD, visit } from './session.ts'

let service: TestService

before(async () => {
  service = await startTestService({ env: { TAPELINE_TRUSTED_PROXIES: '127.0.0.0/8' } })
})
after(() => service.stop())

const SPELLINGS = ['OWNER@example.com', ' owner@example.com', 'owner@EXAMPLE.com ', '\towner@example.com']

async function signIn(email: string, password: string, address: string, device = '') {
  const { csrf, cookie } = await visit(service.url)
  const startedMs = performance.now()
  const answer = await fetch(`${service.url}/dashboard/api/sign-in`, {
    method: 'POST',
    body: JSON.stringify({ email, password }),
    headers: {
      cookie: `${cookie}; ${device}`,
      'X-CSRF-Token': csrf,
      'Content-Type': 'application/json',
      'X-Forwarded-For': address,
    },
  })
  const cookies = answer.headers.getSetCookie()
  await answer.arrayBuffer()
  return {
    status: answer.status,
    ms: performance.now() - startedMs,
    device: cookies.find((text) => text.startsWith('tapeline_device='))?.split(';')[0] ?? '',
    cookies,
  }
}

/** What any other device waits after the guesses below. */
const WAIT_NOW_MS = 2_000

test('concurrent guesses in many spellings are slowed; the owner passes, on a known device without waiting', async () => {
  const session = await visit(service.url)
  const { status } = await session.enter('sign-up', { email: 'owner@example.com', password: PASSWORD })
  assert.equal(status, 200)
  const first = await signIn('owner@example.com', PASSWORD, '192.0.2.1')
  assert.equal(first.status, 200)
  assert.match(first.device, /^tapeline_device=[\w-]{40,}$/)
  for (const cookie of first.cookies) assert.match(cookie, /; HttpOnly; SameSite=Lax/)

  const guesses = await Promise.all(
    Array.from({ length: 5 }, (_, i) =>
      signIn(SPELLINGS[i % SPELLINGS.length] ?? '', 'a wrong password', `2001:db8:0:${i}::1`),
    ),
  )
  assert.deepEqual([...new Set(guesses.map((guess) => guess.status))], [401])
  const slowest = Math.max(...guesses.map((guess) => guess.ms))
  assert.ok(slowest >= 500, `the last of them waits half a second: ${slowest}`)

  // Sealed by this service for one e-mail: nothing else will do.
  const forged = await signIn('owner@example.com', 'a wrong password', '192.0.2.9', 'tapeline_device=AAAA')
  assert.equal(forged.status, 401)
  assert.ok(forged.ms > 500, `${forged.ms}`)
  // The fastest of several: a busy machine delays single answers, a wait would delay all of them.
  const enoughMs = Math.max(WAIT_NOW_MS, 2 * first.ms)
  let knownMs = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < 10 && knownMs >= enoughMs; tries++) {
    const known = await signIn('owner@example.com', PASSWORD, '192.0.2.1', first.device)
    assert.equal(known.status, 200)
    knownMs = Math.min(knownMs, known.ms)
  }
  assert.ok(knownMs < enoughMs, `the known device waited: ${knownMs}`)
  const stranger = await signIn('owner@example.com', PASSWORD, '192.0.2.3')
  assert.equal(stranger.status, 200, 'the right password passes, after its wait')
  assert.ok(stranger.ms >= WAIT_NOW_MS)
})
