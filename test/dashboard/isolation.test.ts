/** Tokens, owners, secrets and headers, tried on every route that the dashboard's API declares. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { CreatedKeyView, DeliveryView, KeyView, UsageView } from '../../src/dashboard/wire.ts'
import { createLogger } from '../../src/kit/log.ts'
import { openEventWriter } from '../fakes/event-writer.ts'
import { type Receiver, startReceiver, status } from '../fakes/receiver.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { storedBytes } from '../fakes/stores.ts'
import { until } from '../until.ts'
import { everyCall, ROUTE_FILES } from './routes.ts'
import { operator, PASSWORD, type Session, signedUp, visit } from './session.ts'

interface Log {
  deliveries: Pick<DeliveryView, 'id' | 'state'>[]
}

const lines: string[] = []
let service: TestService
let receiver: Receiver
let writer: ReturnType<typeof openEventWriter>
let boss: Session
/** The owner of everything that others must not reach. */
let ann: Session
let bob: Session
let annsKey = ''
const own: Record<string, string> = { environment: 'test' }

before(async () => {
  service = await startTestService({
    env: { TAPELINE_SIGN_UP_PLAN: 'developer', TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on' },
    log: createLogger({ level: 'trace', write: (line) => void lines.push(line) }),
  })
  receiver = await startReceiver()
  writer = openEventWriter(service.folder)
  boss = await operator(service.url, service.service.operatorToken ?? '')
  ann = await signedUp(service.url, 'ann@example.com')
  bob = await signedUp(service.url, 'bob@example.com')
  own.account = await ann.accountId()
  const made = await ann.createKey()
  own.key = made.record.id
  annsKey = made.key
  const hook = await ann.call<{ id: string }>('POST', 'view/test/v1/webhooks', {
    url: receiver.url,
    kinds: ['block_added'],
  })
  assert.equal(hook.status, 201, hook.text)
  own.webhook = hook.json.id
  await writer.blocks(1)
  const log = () => ann.call<Log>('GET', `view/test/v1/webhooks/${own.webhook}/deliveries`)
  await until('a delivery', async () => (await log()).json.deliveries[0]?.state === 'delivered')
  own.delivery = (await log()).json.deliveries[0]?.id ?? ''
  await fetch(`${service.url}/v1/sources`, { headers: { 'X-API-Key': annsKey } })
})
after(async () => {
  await writer.close()
  await receiver.close()
  await service.stop()
})

test('every file of routes is tried here', () => {
  const folder = join(import.meta.dirname, '..', '..', 'src', 'dashboard', 'routes')
  const files = readdirSync(folder)
    .filter((name) => !name.endsWith('.test.ts'))
    .map((name) => name.replace('.ts', ''))
  assert.deepEqual(Object.keys(ROUTE_FILES), files.sort())
})

test('every state-changing call fails without the CSRF token, and with that of another session', async () => {
  const other = await visit(service.url)
  const changes = everyCall(own).filter(({ method }) => method !== 'GET')
  assert.ok(changes.length >= 30 && changes.some(({ path }) => path.endsWith('/replay')), `${changes.length}`)
  for (const { method, path } of changes) {
    for (const token of ['', other.csrf, `${boss.csrf}x`]) {
      const answer = await boss.call(method, path, {}, { 'X-CSRF-Token': token })
      assert.equal(answer.status, 403, `${method} ${path}`)
      assert.equal(answer.json.error, 'csrf', `${method} ${path}`)
    }
  }
  assert.equal((await boss.call('GET', 'keys')).status, 200, 'the session is still good')
})

test('there is no access without a session, even with a key', async () => {
  const stranger = await visit(service.url)
  for (const { method, path, access } of everyCall(own)) {
    if (access === 'open') continue
    const answer = await stranger.call(method, path, method === 'GET' ? undefined : {}, {
      'X-API-Key': annsKey,
    })
    assert.equal(answer.status, 401, `${method} ${path}`)
  }
})

test("another account's key, webhook, usage and delivery are unreachable by any call that names one", async () => {
  const named = (path: string) => Object.values(own).some((id) => id !== 'test' && path.includes(id))
  const calls = everyCall(own).filter(({ path }) => named(path))
  assert.ok(calls.length >= 25, `${calls.length}`)
  for (const { method, path, access } of calls) {
    const answer = await bob.call(method, path, method === 'GET' ? undefined : bodyOf(path))
    assert.equal(answer.status, access === 'operator' ? 403 : 404, `${method} ${path}: ${answer.text}`)
  }
  for (const { method, path } of everyCall(own).filter(({ method }) => method === 'GET')) {
    const { text } = await bob.call(method, path)
    for (const id of [own.account, own.key, own.webhook, own.delivery, 'ann@']) {
      const isEcho = path.includes(String(id)) && text.includes('There is no')
      assert.ok(isEcho || !text.includes(String(id)), `${path} shows bob ${id}`)
    }
  }
  const { json } = await ann.call<DeliveryView>(
    'GET',
    `webhooks/test/${own.webhook}/deliveries/${own.delivery}`,
  )
  assert.equal(json.request.body?.text, receiver.received[0]?.body, 'the owner reaches it')
  assert.equal(
    (await ann.call<{ keys: KeyView[] }>('GET', 'keys')).json.keys[0]?.revoked_at,
    null,
    'nothing was changed',
  )
  const hooks = await ann.call<{ webhooks: { active: boolean }[] }>('GET', 'view/test/v1/webhooks')
  assert.equal(hooks.json.webhooks[0]?.active, true)
})

/** What each call would take from its owner: nothing may be refused for its form alone. */
function bodyOf(path: string): object {
  if (path.endsWith('/rotate') && path.startsWith('keys/')) return { overlap_hours: 1 }
  if (path.endsWith('/replay')) return { after_seq: 0 }
  return path.includes('/webhooks/') && !path.endsWith('/test') ? { active: false } : {}
}

test('the clear text of a key is in the creation answer only: not in database, logs or later answers', async () => {
  const cleo = await signedUp(service.url, 'cleo@example.com')
  const { key: first, record } = await cleo.createKey()
  const rotated = await cleo.call<CreatedKeyView>('POST', `keys/${record.id}/rotate`, { overlap_hours: 1 })
  const keys = [first, rotated.json.key]
  for (const key of keys) {
    const used = await fetch(`${service.url}/v1/sources`, { headers: { 'X-API-Key': key } })
    assert.equal(used.status, 200)
    await fetch(`${service.url}/v1/nothing?api_key=${key}`)
  }
  await makeLogLine(cleo)
  const account = await cleo.accountId()
  const later: string[] = [(await cleo.call('POST', `keys/${record.id}/revoke`, {})).text]
  const names = { ...own, account, key: record.id }
  for (const { path } of everyCall(names).filter(({ method }) => method === 'GET')) {
    for (const person of [cleo, boss]) later.push((await person.call('GET', path)).text)
  }
  for (const path of ['limits', 'sources', 'status', 'webhooks']) {
    const reply = await fetch(`${service.url}/v1/${path}`, { headers: { 'X-API-Key': keys[1] ?? '' } })
    later.push(await reply.text(), JSON.stringify([...reply.headers]))
  }
  await until(
    'the usage in the database',
    async () => (await cleo.call<UsageView>('GET', 'usage')).json.rows.length > 0,
  )
  const stored = (await storedBytes(service.folder)).map(({ bytes }) => bytes.toString('latin1'))
  assert.ok(
    stored.some((text) => text.includes(record.id)),
    'the database was really searched',
  )
  const places = [...stored, lines.join(''), ...later]
  const token = cleo.cookie.split('=')[1] ?? ''
  const secrets = [...keys, ...keys.map((key) => key.slice(9)), token, PASSWORD].flatMap(spellings)
  for (const secret of secrets) {
    assert.ok(secret.length >= 15)
    for (const [index, place] of places.entries()) {
      assert.ok(!place.includes(secret), `a secret is in place ${index} of ${places.length}`)
    }
  }
})

/** The service says little; a receiver that is gone for good is worth a line. */
async function makeLogLine(person: Session): Promise<void> {
  const gone = await startReceiver(status(410))
  await person.call('POST', 'view/test/v1/webhooks', { url: gone.url, kinds: ['block_added'] })
  await writer.blocks(1)
  await until('a line in the log', () => lines.some((line) => line.includes('switched off')))
  await gone.close()
}

function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [secret, bytes.toString('hex'), bytes.toString('base64').replace(/=+$/, '')]
}

test('every answer of the dashboard carries the strict policy, whatever it answers', async () => {
  const html = await (await fetch(`${service.url}/`)).text()
  const assets = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((match) => match[1] ?? '')
  assert.ok(assets.length >= 4)
  const paths = ['/', '/favicon.svg', '/assets/none.js', '/dashboard/api/nothing', ...assets]
  const replies = await Promise.all(paths.map((path) => fetch(service.url + path.replaceAll('&amp;', '&'))))
  const answers = [...replies, await fetch(`${service.url}/billing/stripe`, { method: 'POST', body: '{}' })]
  const seen = answers.map(({ status, url, headers }) => ({ status, path: url, headers }))
  for (const { method, path } of everyCall(own)) {
    const body = method === 'GET' ? undefined : {}
    for (const person of [boss, await visit(service.url)]) {
      if (path === 'sign-out') continue
      seen.push({ ...(await person.call(method, path, body, { 'X-CSRF-Token': 'x' })), path })
    }
  }
  const statuses = new Set(seen.map(({ status }) => status))
  for (const status of [200, 401, 403, 404]) assert.ok(statuses.has(status), `${[...statuses]}`)
  for (const { path, headers } of seen) {
    const policy = headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'.*script-src 'self'.*frame-ancestors 'none'/, path)
    assert.doesNotMatch(policy, /unsafe|https?:|\*/, path)
    assert.equal(headers.get('x-frame-options'), 'DENY', path)
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path)
    assert.equal(headers.get('access-control-allow-origin'), null, path)
  }
})
