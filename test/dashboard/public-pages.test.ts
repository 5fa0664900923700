/** The pages that need no key and no session. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ENDPOINTS } from '../../src/api/endpoints/list.ts'
import { BUILT_IN_PLANS } from '../../src/core/plan.ts'
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
