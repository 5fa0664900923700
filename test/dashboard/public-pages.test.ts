/** The pages that need no key and no session. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { createNotices, type NoticeInput } from '../../src/accounts/notices.ts'
import { ENDPOINTS } from '../../src/api/endpoints/list.ts'
import { BUILT_IN_PLANS } from '../../src/core/plan.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { ask } from '../fakes/client.ts'
import { startTestService, type TestService } from '../fakes/service.ts'

let service: TestService
before(async () => {
  service = await startTestService({
    plans: [{ name: 'own', extends: 'business', requestsPerSecond: 777, webhookSubscriptions: 0 }],
  })
})
after(() => service.stop())

/** The cells of a table row that begins with a text. */
function rowOf(page: string, label: string): string[] {
  const row = page.split('<tr').find((text) => text.includes(`>${label}<`))
  assert.ok(row !== undefined, `there is a row ${label}`)
  return [...row.matchAll(/<td>(.*?)<\/td>/g)].map((match) => match[1] ?? '')
}

test('/plans has every plan, limit and price, also those of the plans file', async () => {
  const { status, text, headers } = await ask(`${service.url}/plans`)
  assert.equal(status, 200)
  assert.match(headers.get('content-type') ?? '', /^text\/html/)
  assert.match(headers.get('content-security-policy') ?? '', /default-src 'self'/)
  assert.ok(!/<script|<style|style=|onclick/i.test(text), 'nothing is inline')
  const perSecond = [...BUILT_IN_PLANS.map((plan) => String(plan.requestsPerSecond)), '777']
  assert.deepEqual(rowOf(text, 'Requests per second'), perSecond)
  assert.deepEqual(rowOf(text, 'Webhooks'), ['none', '25', '250', 'none'])
  assert.deepEqual(rowOf(text, 'Order books and snapshots'), ['7 days', '30 days', 'all of it', 'all of it'])
  for (const { method, path, cost, access } of ENDPOINTS) {
    if (access.auth === 'none') continue
    const [credits] = rowOf(text, `${method} ${path}`)
    assert.equal(credits, cost.describe())
  }
  assert.equal((await ask(`${service.url}/pages.css`)).status, 200)
  assert.equal((await ask(`${service.url}/plans`, { method: 'POST' })).status, 405)
})

test('a refusal for the plan names the page', async () => {
  const key = await service.key({ plan: 'free' })
  const refused = await ask(`${service.url}/v1/ticker?symbol=BTC`, { key })
  assert.equal(refused.status, 403, refused.text)
  assert.equal(refused.json.upgrade_url, '/plans')
})

test('/status shows what goes on, what is planned and what is over, as text', async () => {
  const notices = createNotices({ store: service.parts.store, clock: systemClock, randomBytes })
  const nowMs = Date.now()
  const notice = (title: string, startsAtMs: number, endsAtMs: number | null): NoticeInput => ({
    kind: 'incident',
    title,
    text: 'first <script>alert(1)</script>\nsecond',
    startsAtMs,
    endsAtMs,
  })
  await notices.create(notice('goes on', nowMs - 1_000, null))
  await notices.create({
    ...notice('is planned', nowMs + 86_400_000, nowMs + 90_000_000),
    kind: 'maintenance',
  })
  await notices.create(notice('is over', nowMs - 9_000, nowMs - 1_000))
  await notices.create(notice('is long over', nowMs - 95 * 86_400_000, nowMs - 91 * 86_400_000))
  const { status, text, headers } = await ask(`${service.url}/status`)
  assert.equal(status, 200)
  assert.match(headers.get('content-type') ?? '', /^text\/html/)
  assert.ok(!/<script|<style|style=/i.test(text) && text.includes('first &#60;script&#62;'), text)
  const [current = '', past = ''] = text.split('Past incidents and maintenance')
  assert.ok(current.includes('An incident is open') && current.includes('goes on'))
  assert.ok(current.includes('is planned') && !current.includes('is over'))
  assert.ok(past.includes('is over') && !text.includes('is long over'))
  assert.match(headers.get('cache-control') ?? '', /max-age=15/)
})

test('/status can be switched off; /plans then does not name it', async () => {
  const other = await startTestService({ env: { TAPELINE_STATUS_PAGE: 'off' } })
  try {
    assert.equal((await ask(`${other.url}/status`)).status, 404)
    assert.ok(!(await ask(`${other.url}/plans`)).text.includes('href="/status"'))
  } finally {
    await other.stop()
  }
})
