/** What the dashboard must never do, tried through its real HTTP interface. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import { createLogger } from '../../src/kit/log.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { NEW_KEY, operator, PASSWORD, type Session, signedUp, visit } from './session.ts'

let service: TestService
const lines: string[] = []
let boss: Session

before(async () => {
  service = await startTestService({
    env: {
      TAPELINE_SANDBOX: 'off',
      TAPELINE_SIGN_UP_PLAN: 'developer',
      TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on',
    },
    log: createLogger({ level: 'trace', write: (line) => void lines.push(line) }),
  })
  boss = await operator(service.url, service.service.operatorToken ?? '')
})
after(() => service.stop())

/** Every call that changes something. */
const CHANGES: [string, string][] = [
  ['POST', 'sign-in'],
  ['POST', 'sign-up'],
  ['POST', 'invitation'],
  ['POST', 'welcome'],
  ['POST', 'password'],
  ['POST', 'sign-out'],
  ['POST', 'keys'],
  ['POST', 'keys/key_x/rotate'],
  ['POST', 'keys/key_x/revoke'],
  ['POST', 'view/test/v1/webhooks'],
  ['PATCH', 'view/test/v1/webhooks/wh_0123456789abcdef0123'],
  ['DELETE', 'view/test/v1/webhooks/wh_0123456789abcdef0123'],
  ['POST', 'view/test/v1/webhooks/wh_0123456789abcdef0123/test'],
  ['POST', 'view/test/v1/webhooks/wh_0123456789abcdef0123/rotate'],
  ['POST', 'view/test/v1/webhooks/wh_0123456789abcdef0123/replay'],
  ['POST', 'webhooks/test/wh_0123456789abcdef0123/deliveries/dlv_0123456789abcdef0123_1/redeliver'],
  ['POST', 'operator/accounts/acc_x/plan'],
  ['POST', 'operator/accounts/acc_x/credits'],
  ['POST', 'operator/accounts/acc_x/pause'],
  ['POST', 'operator/accounts/acc_x/resume'],
  ['POST', 'operator/keys/key_x/revoke'],
]

test('every state-changing call fails without the CSRF token, and with that of another session', async () => {
  const other = await visit(service.url)
  for (const [method, path] of CHANGES) {
    for (const token of ['', other.csrf, `${boss.csrf}x`]) {
      const answer = await boss.call(method, path, {}, { 'X-CSRF-Token': token })
      assert.equal(answer.status, 403, `${method} ${path}`)
      assert.equal(answer.json.error, 'csrf', `${method} ${path}`)
    }
  }
  assert.equal((await boss.call('GET', 'keys')).status, 200, 'the session is still good')
})

test('an API key opens nothing of the dashboard, and a session cookie nothing of the API', async () => {
  const key = await service.key({})
  for (const path of ['keys', 'usage', 'status', 'operator/accounts', 'view/test/v1/limits']) {
    const answer = await fetch(`${service.url}/dashboard/api/${path}`, { headers: { 'X-API-Key': key } })
    assert.equal(answer.status, 401, path)
  }
  const api = await fetch(`${service.url}/v1/limits`, { headers: { cookie: boss.cookie } })
  assert.equal(api.status, 401)
})

test("another account's keys, webhooks, deliveries and usage are unreachable", async () => {
  const [ann, bob] = await Promise.all([
    signedUp(service.url, 'ann@example.com'),
    signedUp(service.url, 'bob@example.com'),
  ])
  const made = await ann.call('POST', 'keys', NEW_KEY)
  assert.equal(made.status, 201, made.text)
  const keyId = made.json.record.id
  const hook = await ann.call('POST', 'view/test/v1/webhooks', {
    url: 'http://127.0.0.1:59999/x',
    kinds: ['block_added'],
  })
  assert.equal(hook.status, 201, hook.text)
  await fetch(`${service.url}/v1/sources`, { headers: { 'X-API-Key': made.json.key } })

  assert.equal((await bob.call('POST', `keys/${keyId}/revoke`, {})).status, 404)
  assert.equal((await bob.call('POST', `keys/${keyId}/rotate`, { overlap_hours: 1 })).status, 404)
  const path = `view/test/v1/webhooks/${hook.json.id}`
  assert.equal((await bob.call('GET', `${path}/deliveries`)).status, 404)
  assert.equal((await bob.call('PATCH', path, { active: false })).status, 404)
  assert.equal((await bob.call('DELETE', path)).status, 404)
  for (const act of ['test', 'rotate']) assert.equal((await bob.call('POST', `${path}/${act}`)).status, 404)
  assert.equal((await bob.call('POST', `${path}/replay`, { after_seq: 0 })).status, 404)
  const delivery = `webhooks/test/${hook.json.id}/deliveries/dlv_${hook.json.id.slice(3)}_1`
  assert.equal((await bob.call('GET', delivery)).status, 404)
  assert.equal((await bob.call('POST', `${delivery}/redeliver`)).status, 404)
  for (const read of ['keys', 'usage', 'usage.csv', 'view/test/v1/webhooks']) {
    const { text } = await bob.call('GET', read)
    assert.doesNotMatch(text, new RegExp(`${keyId}|${hook.json.id}|ann@`), read)
  }
  const session = await bob.call('GET', 'session')
  const annAccount = (await ann.call('GET', 'session')).json.account.id
  assert.notEqual(session.json.account.id, annAccount)
  for (const tail of ['keys', 'usage']) {
    assert.equal((await bob.call('GET', `operator/accounts/${annAccount}/${tail}`)).status, 403)
  }
  for (const act of ['pause', 'resume']) {
    assert.equal((await bob.call('POST', `operator/accounts/${annAccount}/${act}`, {})).status, 403)
  }
  assert.equal((await bob.call('POST', `operator/keys/${keyId}/revoke`, {})).status, 403)
  assert.equal((await ann.call('GET', `${path}/deliveries`)).status, 200, 'the owner still reaches it')
})

test('the clear text of a key is in the creation answer only: not in database, logs or later answers', async () => {
  const person = await signedUp(service.url, 'cleo@example.com')
  const { json } = await person.call('POST', 'keys', NEW_KEY)
  const rotated = await person.call('POST', `keys/${json.record.id}/rotate`, { overlap_hours: 1 })
  const keys = [json.key, rotated.json.key].map(String)
  for (const key of keys) await fetch(`${service.url}/v1/sources`, { headers: { 'X-API-Key': key } })
  const later = await Promise.all(
    ['session', 'keys', 'usage', 'usage.csv', 'status', 'view/test/v1/limits'].map((path) =>
      person.call('GET', path),
    ),
  )
  const asOperator = await Promise.all(
    ['operator/accounts', 'operator/audit'].map((path) => boss.call('GET', path)),
  )
  const token = person.cookie.split('=')[1] ?? ''
  const stored = readdirSync(service.folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)).toString('latin1'))
  const places = [...stored, lines.join(''), ...[...later, ...asOperator].map(({ text }) => text)]
  for (const secret of [...keys, ...keys.map((key) => key.slice(9)), token, PASSWORD]) {
    assert.ok(secret.length >= 15)
    for (const [index, place] of places.entries()) {
      assert.ok(!place.includes(secret), `a secret is in place ${index} of ${places.length}`)
    }
  }
})

test('the page is served under a strict policy, its assets for ever, its session in a closed cookie', async () => {
  const page = await fetch(`${service.url}/`)
  const html = await page.text()
  const policy = page.headers.get('content-security-policy') ?? ''
  assert.match(policy, /default-src 'none'/)
  assert.doesNotMatch(policy, /unsafe|https?:|\*/)
  assert.doesNotMatch(html, /<script>|<style|style=|onclick/)
  const assets = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((match) => match[1] ?? '')
  assert.ok(assets.length >= 3)
  for (const asset of assets) {
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
  const account = (await person.call('GET', 'session')).json.account.id
  const made = await person.call('POST', 'keys', NEW_KEY)
  const keyOf = () => fetch(`${service.url}/v1/limits`, { headers: { 'X-API-Key': made.json.key } })
  await boss.call('POST', `operator/accounts/${account}/plan`, { plan: 'business' })
  await boss.call('POST', `operator/accounts/${account}/pause`, {})
  await until(async () => (await keyOf()).status === 403)
  await boss.call('POST', `operator/accounts/${account}/resume`, {})
  await until(async () => (await keyOf()).status === 200)
  await boss.call('POST', `operator/keys/${made.json.record.id}/revoke`, {})
  await until(async () => (await keyOf()).status === 401)
  const { json } = await boss.call('GET', 'operator/audit')
  const acts = json.entries
    .filter((entry: { account_id: string }) => entry.account_id === account)
    .map((entry: { actor: string; action: string }) => `${entry.actor} ${entry.action}`)
  assert.deepEqual(acts.toReversed(), [
    'eve@example.com user.signed_up',
    'eve@example.com key.created',
    'op@example.com account.plan',
    'op@example.com account.paused',
    'op@example.com account.resumed',
    'op@example.com key.revoked',
  ])
})

test('what the explorer reads costs nothing, tells its price, and obeys the plan', async () => {
  const person = await signedUp(service.url, 'fay@example.com')
  const page = await person.call('GET', 'view/test/v1/sources')
  assert.equal(page.status, 200, page.text)
  assert.equal(page.headers.get('x-credits-price'), '25')
  const fine = await person.call('GET', 'view/test/v1/candles?symbol=BTC&interval=1s')
  assert.equal(fine.status, 403, 'one-second bars need the business plan')
  for (const path of ['v1/transactions/00', 'v1/ws']) {
    assert.equal((await person.call('GET', `view/test/${path}`)).status, 404, path)
  }
  assert.equal((await person.call('POST', 'view/test/v1/transactions/submit', {})).status, 404)
  const usage = await person.call('GET', 'usage')
  assert.equal(usage.json.balances[0].used, 0)
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

async function until(condition: () => Promise<boolean>): Promise<void> {
  const endMs = Date.now() + 5_000
  while (!(await condition())) {
    if (Date.now() > endMs) throw new Error('it did not happen')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
