/** What users run into: wrong values, an ended session, two tabs, the keyboard, the back button, long names. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { KeyView } from '../../src/dashboard/wire.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { until } from '../until.ts'
import { createKey, createWebhook, signUp } from './acts.ts'
import { skip, useChromium } from './browser.ts'
import { operator, PASSWORD } from './session.ts'

const LONG = 'x'.repeat(100)

describe('a person with the dashboard', { skip }, () => {
  const chromium = useChromium()
  let service: TestService
  let page: Page

  before(async () => {
    service = await startTestService({
      env: { TAPELINE_SIGN_UP_PLAN: 'wide', TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on' },
    })
    page = (await chromium.open(service.url)).page
    await signUp(page, 'person@example.com')
  })
  after(() => service?.stop())

  const button = (name: string, at: Page = page) => at.getByRole('button', { name, exact: true })
  const inDialog = (name: string) => page.locator('dialog').last().getByRole('button', { name, exact: true })
  const heading = (name: string, at: Page = page) => at.getByRole('heading', { name, exact: true }).waitFor()
  /** Not `waitForFunction`: it evaluates inside the page, where the content security policy forbids it. */
  const untilPage = (condition: string) => until(condition, () => page.evaluate<boolean>(condition))
  /** The browser logs every refused call in its console, whether the page handles it or not. */
  const refused = async (status: number, act: () => Promise<void>) => {
    await act()
    for (const fault of chromium.faults.splice(0))
      assert.match(fault, new RegExp(`the server responded with a status of ${status}`))
  }

  test('every form shows which field is wrong, and keeps what was typed', async () => {
    const wrong = async (fill: () => Promise<void>, message: RegExp, submit: () => Promise<void>) =>
      refused(422, async () => {
        await fill()
        await submit()
        await page.getByRole('alert').filter({ hasText: message }).waitFor()
      })
    await page.goto('/#/keys')
    await button('Create key').click()
    const name = page.locator('dialog input[name=name]')
    const create = () => inDialog('Create key').click()
    await wrong(() => name.fill('   '), /name must have 1 to 100 characters/, create)
    await name.fill('kept')
    const scopes = page.locator('dialog fieldset input')
    for (const scope of await scopes.all()) await scope.uncheck()
    await wrong(async () => {}, /scope/, create)
    for (const scope of await scopes.all()) await scope.check()
    await page.getByText('Expiry, addresses, credit cap').click()
    await wrong(() => page.getByLabel('Expires at').fill('2020-01-01'), /expiry lies in the past/, create)
    await page.getByLabel('Expires at').fill('')
    const ranges = page.getByLabel('Allowed addresses')
    await wrong(() => ranges.fill('10.0.0.0/8, 300.0.0.1'), /"300.0.0.1" is not an address range/, create)
    await page.getByLabel('Credit cap').fill('-1')
    await create()
    assert.equal(
      await page.evaluate('document.activeElement.type'),
      'number',
      'the browser points at the cap',
    )
    assert.equal(await name.inputValue(), 'kept')
    await page.keyboard.press('Escape')

    await page.goto('/#/webhooks')
    await button('Create webhook').click()
    const url = page.getByLabel('Receiver')
    const make = () => inDialog('Create webhook').click()
    await wrong(() => url.fill('ftp://example.com/'), /at least one kind of event/, make)
    await page.getByRole('checkbox', { name: 'block_added' }).check()
    await wrong(async () => {}, /url must be an absolute/, make)
    await wrong(() => url.fill('https://me:pw@example.com/'), /url must carry no user name/, make)
    await url.fill('http://127.0.0.1:9999/hook')
    await wrong(
      () => page.getByRole('checkbox', { name: /^utxos_changed/ }).check(),
      /addresses must name at least one/,
      make,
    )
    await wrong(() => page.getByLabel('Addresses').fill('nonsense'), /addresses\.0: an address starts/, make)
    await page.keyboard.press('Escape')

    await page.goto('/#/account')
    await page.getByLabel('Current password').fill('not the password')
    await page.getByLabel('New password').fill('another long password')
    await refused(403, async () => {
      await button('Change password').click()
      await page.getByRole('alert').filter({ hasText: 'The current password is wrong.' }).waitFor()
    })
  })

  test('a replay whose end is before its start is refused, naming the field; an end is sent with the range', async () => {
    await createWebhook(page, 'http://127.0.0.1:9999/hook')
    await button('Open').click()
    await inDialog('Replay').first().click()
    // A year may have five digits in the field, but not in a time.
    await page.getByLabel('From (UTC)').fill('12026-01-02T00:00')
    await page.getByLabel('From (UTC)').fill('2026-01-02T00:00')
    await page.getByLabel('Until (UTC)').fill('2026-01-01T00:00')
    const send = () =>
      page.locator('form.replay').getByRole('button', { name: 'Replay', exact: true }).click()
    await refused(422, async () => {
      await send()
      await page.getByRole('alert').filter({ hasText: 'until must be after since.' }).waitFor()
    })
    await page.getByLabel('Until (UTC)').fill('2026-01-03T00:00')
    const range = '"since":"2026-01-02T00:00:00.000Z","until":"2026-01-03T00:00:00.000Z"'
    await page.locator('.api-call', { hasText: range }).waitFor()
    await send()
    await page.getByText('There is no event of these kinds in the range.').waitFor()
    await page.keyboard.press('Escape')
  })

  test('events say why the stream is closed, until it is live again', async () => {
    let isRefused = true
    await page.routeWebSocket('**/dashboard/api/stream*', (socket) => {
      if (isRefused) socket.close({ code: 4429, reason: 'the plan wide allows 2 connections' })
      else socket.onMessage(() => socket.send(JSON.stringify({ type: 'live', seq: 1 })))
    })
    await page.goto('/#/explorer/events')
    await page.reload()
    const why = page.getByRole('alert').filter({ hasText: '(4429): the plan wide allows 2 connections' })
    await why.waitFor()
    isRefused = false
    await page.locator('.badge', { hasText: 'live' }).waitFor()
    assert.equal(await why.isVisible(), false)
    await page.goto('/#/account')
  })

  test('a dialog begins at its first field, and the focus returns to what opened it, however it ends', async () => {
    await createKey(page, 'focus')
    await button('I have copied it').click()
    const focused = (text: string) =>
      untilPage(`(document.activeElement.name || document.activeElement.textContent) === '${text}'`)
    await focused('Create key')
    for (const end of [() => page.keyboard.press('Escape'), () => button('Close').click()]) {
      await button('Create key').first().press('Enter')
      await focused('name')
      await end()
      await page.locator('dialog').waitFor({ state: 'detached' })
      await focused('Create key')
    }
    await button('Revoke').first().press('Enter')
    await button('Cancel').press('Enter')
    await page.locator('dialog').waitFor({ state: 'detached' })
    await focused('Revoke')
  })

  test('back and forward lead through the views, each with a title of its own', async () => {
    for (const [path, title] of [
      ['usage', 'Usage'],
      ['status', 'Status'],
      ['explorer/markets', 'Explorer'],
    ] as const) {
      await page.goto(`/#/${path}`)
      await heading(title)
    }
    await page.goBack()
    await heading('Status')
    await untilPage("document.title === 'Status · Tapeline'")
    await page.goBack()
    await heading('Usage')
    await page.goForward()
    await page.goForward()
    await heading('Explorer')
    await page.locator('.tabs [aria-current=page]', { hasText: 'Prediction markets' }).waitFor()
  })

  test('long names fit on a phone, and inside the table', async () => {
    await createKey(page, LONG)
    await button('I have copied it').click()
    const phone = await chromium.open(service.url, { width: 360, height: 740 })
    await phone.context.addCookies(await page.context().cookies())
    await phone.page.goto('/#/keys')
    await phone.page.getByText(LONG).waitFor()
    assert.equal(await phone.page.evaluate('document.documentElement.scrollWidth'), 360)
    await phone.context.close()
    assert.ok(Number(await page.evaluate('document.documentElement.scrollWidth')) <= 1280)
    assert.ok(await button('Revoke').first().isVisible())
  })

  test('a key can be copied without the clipboard API too, as on plain http', async () => {
    const { page: plain, context } = await chromium.open(service.url)
    await context.addCookies(await page.context().cookies())
    await plain.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    await plain.goto('/#/keys')
    const key = await createKey(plain, 'manual')
    await button('Copy key', plain).click()
    await plain.getByText('Copied', { exact: true }).waitFor()
    await page.bringToFront()
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), key)
    await context.close()
  })

  test('after a session has ended the user signs in and continues in the same place', async () => {
    await page.goto('/#/usage')
    await heading('Usage')
    await refused(401, async () => {
      await page.context().clearCookies()
      await heading('Sign in to Tapeline')
    })
    await page.getByText('Sign in to go on to “usage”').waitFor()
    await signIn(page, 'person@example.com')
    await heading('Usage')
    // What was asked for while nobody was signed in.
    await refused(401, async () => {})
  })

  test('a page that stays open notices that the account was paused, changed its plan and was resumed', async () => {
    const { page: open } = await chromium.open(service.url)
    await open.clock.install()
    await signUp(open, 'patient@example.com')
    const boss = await operator(service.url, service.service.operatorToken ?? '')
    const { accounts } = (
      await boss.call<{ accounts: { id: string; email: string }[] }>('GET', 'operator/accounts')
    ).json
    const account = accounts.find(({ email }) => email === 'patient@example.com')?.id
    const act = async (name: string, body: object) => {
      const answer = await boss.call('POST', `operator/accounts/${account}/${name}`, body)
      assert.equal(answer.status, 200, answer.text)
    }
    const paused = open.getByText('Your keys are paused by the operator of this service.')
    const becomes = (what: string, isSo: () => Promise<boolean>) =>
      until(what, async () => {
        await open.clock.fastForward(121_000)
        return isSo()
      })
    await act('pause', {})
    await act('plan', { plan: 'free' })
    await becomes('the pause', () => paused.isVisible())
    await becomes('the plan', () => open.locator('.badge.plan', { hasText: 'free' }).isVisible())
    await act('resume', {})
    await becomes('no pause', async () => !(await paused.isVisible()))
  })

  test('two tabs: signing out or in as another user in one is seen in the other at once', async () => {
    const other = await page.context().newPage()
    await other.goto('/#/account')
    await button('Sign out', other).click()
    await heading('Sign in to Tapeline', other)
    await heading('Sign in to Tapeline')
    await refused(401, async () => {})
    await signUp(other, 'second@example.com')
    await page.locator('.side', { hasText: 'second@example.com' }).waitFor()
    await other.close()
    // What was asked for before one of them knew.
    await refused(401, async () => {})
  })

  test('a change is not made as another user who has signed in meanwhile', async () => {
    await page.goto('/#/keys')
    await heading('API keys')
    const { page: third, context } = await chromium.open(service.url)
    await signUp(third, 'third@example.com')
    await button('Create key').first().click()
    await page.locator('dialog input[name=name]').fill('whose?')
    await page.context().addCookies(await context.cookies())
    await refused(403, async () => {
      await inDialog('Create key').click()
      await page.locator('.side', { hasText: 'third@example.com' }).waitFor()
    })
    const { keys } = (await third.evaluate(() =>
      fetch('/dashboard/api/keys').then((reply) => reply.json()),
    )) as { keys: KeyView[] }
    assert.deepEqual(keys, [])
    await context.close()
  })
})

async function signIn(page: Page, email: string): Promise<void> {
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}
