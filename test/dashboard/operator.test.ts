/** What the operator does and sees, over HTTP: invitations, notices, a customer's calls, the overview. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type {
  AccountCallsView,
  AuditView,
  CreatedAccountView,
  LinkView,
  NoticeView,
  OperatorAccountView,
  OverviewView,
  ResetLinkView,
  SessionView,
} from '../../src/dashboard/wire.ts'
import { noteLastBackup } from '../../src/store/backup/last-backup.ts'
import { ask } from '../fakes/client.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { operator, type Session, signedUp, visit } from './session.ts'

let service: TestService
let boss: Session
before(async () => {
  service = await startTestService({ env: { TAPELINE_SIGN_UP: 'on' } })
  boss = await operator(service.url, service.service.operatorToken ?? '')
})
after(() => service.stop())

const audit = async () => (await boss.call<{ entries: AuditView[] }>('GET', 'operator/audit')).json.entries

async function createAccount(email: string, plan = 'developer') {
  const made = await boss.call<CreatedAccountView>('POST', 'operator/accounts', { email, plan })
  assert.equal(made.status, 201, made.text)
  return made.json
}

test('the operator creates an account and hands over a link: its user chooses a password once and is signed in', async () => {
  const { account, link } = await createAccount('new@example.com')
  assert.equal(account.plan, 'developer')
  const days = (Date.parse(link.expires_at) - Date.now()) / 86_400_000
  assert.ok(days > 6.9 && days <= 7, `${days}`)

  const guest = await visit(service.url)
  for (const password of ['none', '', 'correct horse battery']) {
    const tried = await guest.call('POST', 'sign-in', { email: 'new@example.com', password })
    assert.ok([401, 422].includes(tried.status), `nobody signs in before that: ${tried.text}`)
  }
  const shown = await guest.call<LinkView>('POST', 'reset-link', { token: link.token })
  assert.deepEqual(shown.json, { valid: true, email: 'new@example.com', first: true })
  const set = await guest.enter('reset', { token: link.token, password: 'chosen by its user' })
  assert.equal(set.status, 200, set.text)
  assert.equal(set.json.account?.id, account.id)
  assert.deepEqual(set.json.user, { email: 'new@example.com', role: 'customer' })
  assert.equal((await guest.call('GET', 'operator/overview')).status, 403)
  const again = await (await visit(service.url)).call('POST', 'reset', {
    token: link.token,
    password: 'another one 123',
  })
  assert.equal(again.status, 403)

  const entries = await audit()
  assert.ok(entries.some(({ action, actor }) => action === 'account.created' && actor === 'op@example.com'))
  const invited = entries.find(({ action }) => action === 'user.invited')
  assert.deepEqual([invited?.detail, invited?.account_id], ['new@example.com as customer', account.id])
  assert.ok(!JSON.stringify(entries).includes(link.token))
})

test('the list of accounts has all of them with their users, keys and balances, however many there are', async () => {
  const made = []
  for (let i = 0; i < 60; i++) made.push((await createAccount(`many-${i}@example.com`)).account.id)
  const { json } = await boss.call<{ accounts: OperatorAccountView[] }>('GET', 'operator/accounts')
  assert.equal(new Set(json.accounts.map(({ id }) => id)).size, json.accounts.length)
  for (const [i, id] of made.entries()) {
    const shown = json.accounts.find((account) => account.id === id)
    assert.deepEqual([shown?.users, shown?.keys], [[`many-${i}@example.com`], 0])
    assert.equal(shown?.balances.length, 2)
  }
  assert.equal(json.accounts.find(({ email }) => email === 'demo@localhost')?.keys, 1)
})

test('an address is invited once it is free; a second link for someone who has not come ends the first', async () => {
  const { account, link } = await createAccount('late@example.com', 'free')
  assert.equal(
    (await boss.call('POST', 'operator/accounts', { email: 'LATE@example.com', plan: 'free' })).status,
    409,
  )
  assert.equal(
    (await boss.call('POST', 'operator/accounts', { email: 'x@example.com', plan: 'nope' })).status,
    422,
  )
  assert.equal(
    (await boss.call('POST', 'operator/accounts', { email: 'not an address', plan: 'free' })).status,
    422,
  )
  const invite = (accountId: string, email: string, role = 'customer') =>
    boss.call<ResetLinkView>('POST', `operator/accounts/${accountId}/invite`, { email, role })
  const second = await invite(account.id, 'late@example.com')
  assert.equal(second.status, 201, second.text)
  const guest = await visit(service.url)
  const isValid = async (token: string) =>
    (await guest.call<LinkView>('POST', 'reset-link', { token })).json.valid
  assert.deepEqual([await isValid(link.token), await isValid(second.json.token)], [false, true])
  assert.equal((await invite(await boss.accountId(), 'late@example.com')).status, 409, 'of another account')
  assert.equal((await invite(account.id, 'late@example.com', 'operator')).status, 409, 'in another role')
  assert.equal((await invite('acc_none', 'y@example.com')).status, 422)

  const colleague = await invite(await boss.accountId(), 'colleague@example.com', 'operator')
  const entered = await guest.enter('reset', { token: colleague.json.token, password: 'a second operator' })
  assert.equal(entered.json.user?.role, 'operator')
  assert.equal((await guest.call('GET', 'operator/overview')).status, 200)
})

test('notices are written, changed and deleted by the operator; who is signed in sees those of now', async () => {
  const customer = await signedUp(service.url, 'reader@example.com')
  const seen = async () => {
    const { notices } = (await customer.call<{ notices: NoticeView[] }>('GET', 'notices')).json
    const session = (await customer.call<SessionView>('GET', 'session')).json
    assert.deepEqual(session.notices, notices)
    return notices.map(({ title }) => title)
  }
  const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
  const notice = {
    kind: 'maintenance',
    title: 'New disks',
    text: 'Ten minutes.',
    starts_at: at(24),
    ends_at: at(25),
  }
  const post = (body: object) => boss.call<NoticeView>('POST', 'operator/notices', body)
  const made = await post(notice)
  assert.equal(made.status, 201, made.text)
  assert.deepEqual(await seen(), ['New disks'])
  assert.equal(
    (await post({ ...notice, title: 'Next month', starts_at: at(24 * 30), ends_at: null })).status,
    201,
  )
  assert.deepEqual(await seen(), ['New disks'], 'what is far away is not announced yet')
  assert.deepEqual((await (await visit(service.url)).call<SessionView>('GET', 'session')).json.notices, [])

  const put = await boss.call('PUT', `operator/notices/${made.json.id}`, {
    ...notice,
    starts_at: at(-2),
    ends_at: at(-1),
  })
  assert.equal(put.status, 200, put.text)
  assert.deepEqual(await seen(), [])
  for (const wrong of [
    { ...notice, ends_at: at(23) },
    { ...notice, title: '' },
    { ...notice, title: 'x'.repeat(121) },
    { ...notice, text: 'x'.repeat(2_001) },
    { ...notice, kind: 'party' },
    { ...notice, starts_at: 'tomorrow' },
    { ...notice, more: 1 },
  ]) {
    assert.equal((await post(wrong)).status, 422, JSON.stringify(wrong).slice(0, 100))
  }
  assert.equal((await boss.call('DELETE', `operator/notices/${made.json.id}`)).status, 200)
  assert.equal((await boss.call('DELETE', `operator/notices/${made.json.id}`)).status, 422)
  const actions = (await audit()).map(({ action, detail }) => `${action} ${detail}`)
  for (const action of ['created', 'changed', 'deleted']) {
    assert.ok(actions.includes(`notice.${action} maintenance: New disks`), actions.join('\n'))
  }
})

test('the audit log goes on before an entry, and what is not the seq of one is refused by name', async () => {
  const [newest, second] = await audit()
  const page = await boss.call<{ entries: AuditView[] }>('GET', `operator/audit?before=${newest?.seq}`)
  assert.equal(page.json.entries[0]?.seq, second?.seq)
  for (const text of ['', '-1', '1e3', '0.5', '%D9%A5', 'x', '9007199254740993']) {
    const { status, json } = await boss.call<{ message: string }>('GET', `operator/audit?before=${text}`)
    assert.deepEqual([status, json.message], [422, 'before must be the seq of an entry.'], text)
  }
})

test('an account’s errors are there with their request ids and without the key, repeated ones once', async () => {
  const accountId = await service.account('free')
  const key = await service.key({ accountId })
  const failing = `${service.url}/v1/candles?symbol=BTC&interval=7m`
  for (let i = 0; i < 3; i++) await ask(`${failing}&api-key=${key}`)
  const refused = await ask(`${service.url}/v1/ticker?symbol=BTC`, { key })
  const { json } = await boss.call<AccountCallsView>('GET', `operator/accounts/${accountId}/calls`)
  assert.deepEqual(
    json.failed.map(({ status, code, target, times }) => [status, code, target, times]),
    [
      [403, 'tier_restricted', '/v1/ticker?symbol=BTC', 1],
      [400, 'invalid_interval', '/v1/candles?symbol=BTC&interval=7m', 3],
    ],
  )
  assert.equal(json.failed[0]?.request_id, refused.headers.get('x-request-id'))
  assert.ok(!JSON.stringify(json).includes(key))
  const other = await service.account('free')
  const none = await boss.call<AccountCallsView>('GET', `operator/accounts/${other}/calls`)
  assert.deepEqual([none.json.failed, none.json.slowest], [[], []])
})

test('the overview has the audit of each environment and the age of the last backup', async () => {
  const read = async () => (await boss.call<OverviewView>('GET', 'operator/overview')).json
  const before = await read()
  assert.equal(before.backup, null)
  assert.deepEqual(
    before.environments.map(({ environment, audit: { differences } }) => [environment, differences]),
    [['test', 0]],
  )
  const takenAtMs = Date.now() - 3_600_000
  noteLastBackup(service.folder, {
    success: { takenAtMs, durationMs: 1, to: '/backups', bytes: 5, addedBytes: 5 },
  })
  noteLastBackup(service.folder, { failure: { atMs: Date.now(), reason: 'the disk is full' } })
  const { backup } = await read()
  assert.deepEqual(
    [backup?.taken_at, backup?.to, backup?.bytes, backup?.failure],
    [new Date(takenAtMs).toISOString(), '/backups', 5, 'the disk is full'],
  )
})

test('without a test environment the first start makes no demo key, and the operator gets an account of their own', async () => {
  const env = { TAPELINE_TEST: 'off' }
  const first = await startTestService({ env })
  assert.equal(first.service.firstKey, undefined)
  assert.deepEqual(await first.parts.accounts.list(), [])
  const customer = await first.account()
  await first.stop({ keepFiles: true })
  const second = await startTestService({ env, folder: first.folder })
  try {
    const own = await operator(second.url, second.service.operatorToken ?? '')
    assert.notEqual(await own.accountId(), customer)
    assert.equal((await own.call('GET', 'operator/overview')).status, 200)
  } finally {
    await second.stop()
  }
})
