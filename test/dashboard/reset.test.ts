/** A forgotten password: a link from the command line or the operator sets a new one, once, and ends all sessions. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { ResetLinkView, SessionView } from '../../src/dashboard/wire.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { cli, cliJson, startTestService, type TestService } from '../fakes/service.ts'
import { skip, useChromium } from './browser.ts'
import { operator, PASSWORD, type Session, signedUp, visit } from './session.ts'

const EMAIL = 'holder@example.com'
let service: TestService
let admin: Session
let holder: Session
before(async () => {
  service = await startTestService()
  admin = await operator(service.url, service.service.operatorToken ?? '')
  holder = await signedUp(service.url, EMAIL)
})
after(() => service.stop())

const signIn = async (password: string) =>
  (await (await visit(service.url)).call('POST', 'sign-in', { email: EMAIL, password })).status

async function issue(): Promise<string> {
  const made = await admin.call<ResetLinkView>('POST', 'operator/users/reset', { email: EMAIL })
  assert.equal(made.status, 201, made.text)
  return made.json.token
}

test('tapeline users reset prints a link to the running service, which sets the password once', async () => {
  const made = await cliJson(service.folder, ['users', 'reset', '--email', EMAIL.toUpperCase()])
  const link = String(made.link)
  assert.ok(link.startsWith(`${service.url}/#/reset/`), link)
  const token = link.split('/').at(-1) ?? ''
  const guest = await visit(service.url)
  const shown = await guest.call<{ valid: boolean; email: string }>('POST', 'reset-link', { token })
  assert.deepEqual(shown.json, { valid: true, email: EMAIL, first: false })

  assert.equal((await guest.call('POST', 'reset', { token, password: 'short' })).status, 422)
  const set = await guest.call<SessionView>('POST', 'reset', { token, password: 'a new long password' })
  assert.equal(set.status, 200, set.text)
  assert.equal(set.json.user?.email, EMAIL, 'and is signed in')
  assert.equal((await holder.call('GET', 'keys')).status, 401, 'the old session has ended')
  assert.equal(await signIn(PASSWORD), 401)
  assert.equal(await signIn('a new long password'), 200)

  const again = await (await visit(service.url)).call('POST', 'reset', { token, password: 'yet another one' })
  assert.equal(again.status, 403)
  assert.equal(again.json.error, 'reset_used')
  assert.equal(await signIn('a new long password'), 200)
})

test('there is no link for an unknown user', async () => {
  const unknown = await cli(service.folder, ['users', 'reset', '--email', 'nobody@example.com'])
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /Nobody signs in with the e-mail address nobody@example\.com/)
})

test('the operator makes the same link; a newer one ends it; of two who use it at once one succeeds', async () => {
  const [first, second] = [await issue(), await issue()]
  const guests = await Promise.all([visit(service.url), visit(service.url), visit(service.url)])
  const sent = await Promise.all(
    guests.map((guest, index) =>
      guest.call('POST', 'reset', {
        token: index === 0 ? first : second,
        password: `password number ${index}`,
      }),
    ),
  )
  const [old, ...others] = sent.map(({ status }) => status)
  assert.equal(old, 403)
  assert.deepEqual(others.toSorted(), [200, 403])
})

test('only operators create links, which expire after a day and are in the audit log without their token', async () => {
  const customer = await signedUp(service.url, 'other@example.com')
  assert.equal((await customer.call('POST', 'operator/users/reset', { email: EMAIL })).status, 403)
  const token = await issue()
  const { entries } = (
    await admin.call<{ entries: { action: string; detail: string; actor: string }[] }>(
      'GET',
      'operator/audit',
    )
  ).json
  const noted = entries.filter(({ action }) => action === 'user.reset_link')
  assert.deepEqual(new Set(noted.map(({ actor }) => actor)), new Set(['op@example.com', 'command line']))
  assert.ok(entries.some(({ action }) => action === 'user.password_reset'))
  assert.ok(!JSON.stringify(entries).includes(token))

  const { store } = service.parts
  const { createPasswordResets } = await import('../../src/accounts/password-reset.ts')
  const { createPasswords } = await import('../../src/accounts/password.ts')
  const later = { now: () => Date.now() + 25 * 3_600_000, sleep: async () => {} }
  const resets = createPasswordResets({ store, passwords: createPasswords(), clock: later, randomBytes })
  assert.equal(await resets.find(token), undefined)
  assert.equal(await resets.redeem(token, 'a password too late'), undefined)
})

test('an invitation of which no user came works on', async () => {
  const { store, accounts } = service.parts
  const { createUsers, hashToken } = await import('../../src/accounts/users.ts')
  const { createPasswords } = await import('../../src/accounts/password.ts')
  const token = 'an-invitation-of-this-test'
  await store.putInvitation({ hash: hashToken(token), role: 'operator', accountId: null })
  const passwords = createPasswords()
  const busy = { ...passwords, hash: () => Promise.reject(new Error('too many wait')) }
  const usersWith = (hashing: typeof passwords) =>
    createUsers({ store, accounts, passwords: hashing, clock: systemClock, randomBytes, planOfNew: 'free' })
  const input = { email: 'late@example.com', password: 'a long enough password' }
  await assert.rejects(usersWith(busy).redeem(token, input), /too many wait/)
  assert.equal((await usersWith(passwords).redeem(token, input))?.email, input.email)
  assert.equal(await usersWith(passwords).redeem(token, { ...input, email: 'b@example.com' }), undefined)
})

describe('in the browser', { skip }, () => {
  const chromium = useChromium()

  test('the operator hands over a link, the holder chooses a password on its page and is signed in', async () => {
    const { page } = await chromium.open(service.url)
    await page.goto('/#/sign-in')
    await page.getByLabel('E-mail').fill('op@example.com')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Explorer' }).first().waitFor()
    await page.goto('/#/operator')
    await page
      .getByRole('row', { name: /holder@example.com/ })
      .getByRole('button', { name: 'Manage' })
      .click()
    await page.getByText('Somebody forgot the password').click()
    await page.getByRole('button', { name: 'Make a link for a new password' }).click()
    await page.getByRole('button', { name: 'Make the link' }).click()
    const link = await page.getByTestId('new-link').innerText()
    assert.ok(link.startsWith(`${service.url}/#/reset/`), link)

    const other = await chromium.open(service.url)
    await other.page.goto(link)
    await other.page.getByText('For holder@example.com.').waitFor()
    await other.page.getByLabel('New password').fill('chosen in the browser')
    await other.page.getByRole('button', { name: 'Set password' }).click()
    await other.page.getByRole('heading', { name: 'Explorer' }).first().waitFor()
    assert.equal(await signIn('chosen in the browser'), 200)
    await other.page.goto(link)
    await other.page.reload()
    await other.page.getByText(/This link was used, replaced by a newer one or is too old/).waitFor()
  })

  test('a link that could not be checked is not called used, and is checked again', async () => {
    const { page } = await chromium.open(service.url)
    await page.route('**/reset-link', (route) => route.abort(), { times: 1 })
    await page.goto(`/#/reset/${await issue()}`)
    await page.getByText('This link could not be checked. The service cannot be reached.').waitFor()
    assert.equal(await page.getByText(/This link was used/).count(), 0)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText(`For ${EMAIL}.`).waitFor()
    await page.getByText('This link could not be checked.').waitFor({ state: 'detached' })

    await page.route('**/invitation', (route) => route.abort(), { times: 1 })
    await page.goto('/#/welcome/unknown')
    await page.getByText('This link could not be checked.').waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('This link was used already or replaced by a newer one.').waitFor()
    for (const fault of chromium.faults.splice(0)) assert.match(fault, /ERR_FAILED/)
  })
})
