/** What the dashboard must never do, tried through its real HTTP interface. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import type { AuditView, NoticeView, UsageView } from '../../src/dashboard/wire.ts'
import { createLogger } from '../../src/kit/log.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { until } from '../until.ts'
import { everyCall } from './routes.ts'
import { operator, PASSWORD, type Session, signedUp, visit } from './session.ts'

let service: TestService
let boss: Session

before(async () => {
  service = await startTestService({
    env: {
      TAPELINE_SANDBOX: 'off',
      TAPELINE_SIGN_UP_PLAN: 'developer',
      TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on',
    },
  })
  boss = await operator(service.url, service.service.operatorToken ?? '')
})
after(() => service.stop())

test('an API key opens nothing of the dashboard, and a session cookie nothing of the API', async () => {
  const key = await service.key({})
  for (const path of ['keys', 'usage', 'status', 'operator/accounts', 'view/test/v1/limits']) {
    const answer = await fetch(`${service.url}/dashboard/api/${path}`, { headers: { 'X-API-Key': key } })
    assert.equal(answer.status, 401, path)
  }
  const api = await fetch(`${service.url}/v1/limits`, { headers: { cookie: boss.cookie } })
  assert.equal(api.status, 401)
})

test('the page is served under a strict policy, its assets cacheable forever, its session in an HttpOnly cookie', async () => {
  const page = await fetch(`${service.url}/`)
  const html = await page.text()
  const policy = page.headers.get('content-security-policy') ?? ''
  assert.match(policy, /default-src 'none'/)
  assert.doesNotMatch(policy, /unsafe|https?:|\*/)
  assert.doesNotMatch(html, /<script>|<style|style=|onclick/)
  const assets = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((match) => match[1] ?? '')
  assert.ok(assets.length >= 3)
  for (const asset of assets.filter((path) => !path.startsWith('/dashboard/'))) {
    const answer = await fetch(service.url + asset)
    assert.equal(answer.status, 200, asset)
    assert.match(
      answer.headers.get('cache-control') ?? '',
      asset.startsWith('/assets/') ? /immutable/ : /no-cache/,
    )
    assert.equal(answer.headers.get('content-security-policy'), policy)
    assert.equal(answer.headers.get('access-control-allow-origin'), null)
  }
  const first = await fetch(`${service.url}/dashboard/api/session`)
  assert.match(first.headers.get('set-cookie') ?? '', /HttpOnly; SameSite=Lax/)
  assert.equal(first.headers.get('access-control-allow-origin'), null)
})

test('signing in changes the cookie, signing out ends the session, a changed password ends the others', async () => {
  const person = await signedUp(service.url, 'dora@example.com')
  const visitor = await visit(service.url)
  const before = visitor.cookie
  assert.equal(
    (await visitor.enter('sign-in', { email: 'DORA@example.com', password: PASSWORD })).status,
    200,
  )
  assert.notEqual(visitor.cookie, before)
  const next = { current: PASSWORD, next: 'another long password' }
  assert.equal((await visitor.call('POST', 'password', next)).status, 200)
  assert.equal((await person.call('GET', 'keys')).status, 401)
  const old = visitor.cookie
  assert.equal((await visitor.enter('sign-out', {})).status, 200)
  visitor.cookie = old
  assert.equal((await visitor.call('GET', 'keys')).status, 401)
})

test('an operator who signs in is in the audit log', async () => {
  const visitor = await visit(service.url)
  const answer = await visitor.enter('sign-in', { email: 'op@example.com', password: PASSWORD })
  assert.equal(answer.status, 200)
  const { json } = await boss.call<{ entries: AuditView[] }>('GET', 'operator/audit')
  const [newest] = json.entries
  assert.deepEqual([newest?.actor, newest?.action], ['op@example.com', 'operator.signed_in'])
})

test("the operator's link works once", async () => {
  const late = await visit(service.url)
  const answer = await late.enter('welcome', {
    token: service.service.operatorToken,
    email: 'late@example.com',
    password: PASSWORD,
  })
  assert.equal(answer.status, 403)
})

test('every administrative act is in the audit log, with who did it', async () => {
  const person = await signedUp(service.url, 'eve@example.com')
  const account = await person.accountId()
  const made = await person.createKey()
  const keyOf = () => fetch(`${service.url}/v1/limits`, { headers: { 'X-API-Key': made.key } })
  await boss.call('POST', `operator/accounts/${account}/plan`, { plan: 'business' })
  await boss.call('POST', `operator/accounts/${account}/pause`, {})
  await until('403', async () => (await keyOf()).status === 403)
  await boss.call('POST', `operator/accounts/${account}/resume`, {})
  await until('200', async () => (await keyOf()).status === 200)
  await boss.call('POST', `operator/keys/${made.record.id}/revoke`, {})
  await until('401', async () => (await keyOf()).status === 401)
  const { json } = await boss.call<{ entries: AuditView[] }>('GET', 'operator/audit')
  const acts = json.entries
    .filter((entry) => entry.account_id === account)
    .map((entry) => `${entry.actor} ${entry.action}`)
  assert.deepEqual(acts.toReversed(), [
    'eve@example.com user.signed_up',
    'eve@example.com key.created',
    'op@example.com account.plan',
    'op@example.com account.paused',
    'op@example.com account.resumed',
    'op@example.com key.revoked',
  ])
})

const NOTICE = {
  kind: 'incident',
  title: 'A node is away',
  text: '',
  starts_at: '2026-01-01T00:00:00Z',
  ends_at: null,
}

test('every change by an operator is logged with the name of who made it', async () => {
  const person = await signedUp(service.url, 'gus@example.com')
  const account = await person.accountId()
  const { record } = await person.createKey()
  const bodies: Record<string, object> = {
    plan: { plan: 'business' },
    credits: { remaining: 5 },
    reset: { email: 'gus@example.com' },
    accounts: { email: 'hal@example.com', plan: 'free' },
    invite: { email: 'ivy@example.com', role: 'customer' },
    notices: NOTICE,
  }
  const notice = (await boss.call<NoticeView>('POST', 'operator/notices', NOTICE)).json.id
  const changes = everyCall({ account, key: record.id, notice }).filter(
    ({ method, access }) => method !== 'GET' && access === 'operator',
  )
  assert.ok(changes.length >= 5, `${changes.length}`)
  const newest = async () =>
    (await boss.call<{ entries: AuditView[] }>('GET', 'operator/audit')).json.entries[0]
  for (const { method, path } of changes) {
    const before = await newest()
    const answer = await boss.call(
      method,
      path,
      bodies[path.replace(`/${notice}`, '').split('/').at(-1) ?? ''] ?? {},
    )
    assert.ok([200, 201].includes(answer.status), `${method} ${path}: ${answer.text}`)
    const entry = await newest()
    assert.ok((entry?.seq ?? 0) > (before?.seq ?? 0), path)
    assert.equal(entry?.actor, 'op@example.com', path)
    if (path.includes('notices')) assert.equal(entry?.account_id, null, path)
    else if (path !== 'operator/accounts') assert.equal(entry?.account_id, account, path)
  }
})

test('what the explorer reads is free within the allowance, shows its price, and obeys the plan', async () => {
  const person = await signedUp(service.url, 'fay@example.com')
  const page = await person.call('GET', 'view/test/v1/sources')
  assert.equal(page.status, 200, page.text)
  assert.equal(page.headers.get('x-credits-price'), '25')
  assert.equal(page.headers.get('x-credits-charged'), '0')
  const fine = await person.call('GET', 'view/test/v1/candles?symbol=BTC&interval=1s')
  assert.equal(fine.status, 403, 'one-second candles need the business plan')
  for (const path of ['v1/transactions/00', 'v1/ws']) {
    assert.equal((await person.call('GET', `view/test/${path}`)).status, 404, path)
  }
  assert.equal((await person.call('POST', 'view/test/v1/transactions/submit', {})).status, 404)
  const usage = await person.call<UsageView>('GET', 'usage')
  assert.equal(usage.json.balances[0]?.used, 0)
  assert.deepEqual(usage.json.rows, [])
})

test('the stream opens for a session of our own origin only', async () => {
  const open = (headers: Record<string, string>) =>
    new Promise<string>((resolve) => {
      const address = `${service.url.replace('http', 'ws')}/dashboard/api/stream?environment=test`
      const socket = new WebSocket(address, { headers })
      socket.on('message', (data) => {
        resolve(String((JSON.parse(data.toString()) as { type: string }).type))
        socket.close()
      })
      socket.on('close', (code) => resolve(String(code)))
    })
  assert.equal(await open({ cookie: boss.cookie, origin: service.url }), 'welcome')
  assert.equal(await open({ cookie: boss.cookie, origin: 'https://evil.example' }), '4401')
  assert.equal(await open({ cookie: boss.cookie }), '4401')
  assert.equal(await open({ origin: service.url }), '4401')
  assert.equal(await open({ origin: service.url, 'X-API-Key': await service.key({}) }), '4401')
})

test('sign-up can be switched off; billing events need their signature', async () => {
  const closed = await startTestService({
    env: { TAPELINE_SIGN_UP: 'off', TAPELINE_BILLING_SECRET: 'whsec_0123456789abcdef' },
  })
  try {
    const visitor = await visit(closed.url)
    const answer = await visitor.call('POST', 'sign-up', { email: 'x@example.com', password: PASSWORD })
    assert.equal(answer.status, 403)
    const billing = (signature: string) =>
      fetch(`${closed.url}/billing/stripe`, {
        method: 'POST',
        body: '{}',
        headers: { 'Stripe-Signature': signature },
      })
    assert.equal((await billing('t=1,v1=00')).status, 400)
    assert.equal((await fetch(`${service.url}/billing/stripe`, { method: 'POST', body: '{}' })).status, 404)
  } finally {
    await closed.stop()
  }
})

test('signed billing events set the plan and the pause of an account, and are in the audit log', async () => {
  const secret = 'whsec_0123456789abcdef'
  let written = ''
  const log = createLogger({
    level: 'warn',
    write: (line) => {
      written += line
    },
  })
  const paid = await startTestService({
    log,
    env: {
      TAPELINE_SANDBOX: 'off',
      TAPELINE_BILLING_SECRET: secret,
      TAPELINE_BILLING_PRICES: 'price_dev=developer',
    },
  })
  try {
    const accountId = await paid.account('free')
    const send = (id: string, type: string, object: object, createdS: number) => {
      const body = JSON.stringify({ id, type, created: createdS, data: { object } })
      const timeS = Math.floor(Date.now() / 1000)
      const tag = createHmac('sha256', secret).update(`${timeS}.${body}`).digest('hex')
      return fetch(`${paid.url}/billing/stripe`, {
        method: 'POST',
        body,
        headers: { 'Stripe-Signature': `t=${timeS},v1=${tag}` },
      })
    }
    const nowS = Math.floor(Date.now() / 1000)
    const subscription = (status: string) => ({
      customer: 'cus_http',
      status,
      items: { data: [{ price: { id: 'price_dev' } }] },
    })
    const created = () => send('evt_1', 'customer.subscription.created', subscription('active'), nowS - 5)
    assert.equal((await created()).status, 422, 'before its checkout')
    const checkout = { customer: 'cus_http', client_reference_id: accountId }
    assert.equal((await send('evt_2', 'checkout.session.completed', checkout, nowS - 4)).status, 200)
    assert.equal((await created()).status, 200, 'sent again')
    assert.equal((await paid.parts.accounts.get(accountId)).plan, 'developer')
    const overdue = await send('evt_3', 'customer.subscription.updated', subscription('past_due'), nowS)
    assert.deepEqual(await overdue.json(), { received: true, applied: true, accountId })
    assert.equal((await paid.parts.accounts.get(accountId)).pausedReason, 'payment_past_due')

    const unknown = { ...subscription('active'), items: { data: [{ price: { id: 'price_new' } }] } }
    assert.equal((await send('evt_4', 'customer.subscription.updated', unknown, nowS + 1)).status, 422)
    const [refused] = written.split('\n').filter((line) => line.includes('price_new'))
    assert.match(refused ?? '', /"why":"No plan is set for the price price_new\."/)
    assert.match(refused ?? '', /"msg":"a billing event was refused"/)

    const chief = await operator(paid.url, paid.service.operatorToken ?? '')
    const { json } = await chief.call<{ entries: AuditView[] }>('GET', 'operator/audit')
    const acts = json.entries.filter((entry) => entry.account_id === accountId && entry.actor === 'billing')
    assert.deepEqual(acts.map(({ action }) => action).sort(), ['account.paused', 'account.plan'])
  } finally {
    await paid.stop()
  }
})
