/** The webhook form says what the webhook will deliver before it is created, and shows when a test event failed. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { EVENT_KINDS } from '../../src/events/kinds.ts'
import { appendEvents } from '../../src/store/conformance/chain-engine.ts'
import { openEventWriter, testAddress } from '../fakes/event-writer.ts'
import { type Receiver, startReceiver, status } from '../fakes/receiver.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { blockEvent } from '../fakes/webhook-rig.ts'
import { createWebhook, signUp } from './acts.ts'
import { skip, useChromium } from './browser.ts'

const SECONDS = 70
const BLOCKS_PER_SECOND = 10

describe('the form of a webhook', { skip }, () => {
  const chromium = useChromium()
  let service: TestService
  let receiver: Receiver
  let writer: ReturnType<typeof openEventWriter>
  let page: Page
  let writtenMs = 0

  before(async () => {
    service = await startTestService({
      env: { TAPELINE_SIGN_UP_PLAN: 'developer', TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on' },
    })
    receiver = await startReceiver()
    writer = openEventWriter(service.folder)
    const nowMs = Date.now()
    writtenMs = nowMs
    await appendEvents(
      writer.chain,
      Array.from({ length: SECONDS * BLOCKS_PER_SECOND }, (_, index) => ({
        ...blockEvent(index),
        createdAtMs: Math.round(nowMs - SECONDS * 1000 + (index * 1000) / BLOCKS_PER_SECOND),
      })),
    )
    page = (await chromium.open(service.url)).page
    await signUp(page, 'hooks@example.com')
  })
  after(async () => {
    await writer?.close()
    await receiver?.close()
    await service?.stop()
  })

  const form = () => page.locator('dialog form')
  const box = (kind: string) => form().getByRole('checkbox', { name: kind })
  const expected = (kind: string) => page.getByTestId(`expected ${kind}`)
  const open = async () => {
    await page.goto('/#/account')
    // The view is drawn after the navigation; until then the dialog of the last test has a button of the same name.
    await page.locator('dialog').waitFor({ state: 'detached' })
    await page.goto('/#/webhooks')
    await page.getByRole('button', { name: 'Create webhook' }).click()
  }

  test('nothing is chosen in a new form, and a form without a choice is refused with a sentence', async () => {
    await open()
    for (const kind of EVENT_KINDS) assert.equal(await box(kind).isChecked(), false, kind)
    await page.getByLabel('Receiver').fill(receiver.url)
    await form().getByRole('button', { name: 'Create webhook' }).click()
    await form().getByRole('alert').getByText('Choose at least one kind of event.').waitFor()
    const { webhooks } = (await page.evaluate(() =>
      fetch('/dashboard/api/view/test/v1/webhooks').then((reply) => reply.json()),
    )) as { webhooks: unknown[] }
    assert.deepEqual(webhooks, [])
  })

  test('each kind shows its events and cost per day, and the form the sum of the chosen ones', async () => {
    await open()
    // What is measured is the last minute, of which nothing was written since.
    const text = (await expected('block_added').getByText(/a day/).textContent()) ?? ''
    const [, events = '', credits = ''] = /^about ([\d,]+) a day, ([\d,]+) credits$/.exec(text) ?? []
    const number = (shown: string) => Number(shown.replaceAll(',', ''))
    const perDay = BLOCKS_PER_SECOND * 86_400
    const least = perDay * (1 - (Date.now() - writtenMs) / 60_000)
    assert.ok(number(events) > 0.9 * least && number(events) <= perDay, `${text}, at least ${least}`)
    assert.equal(events, credits)
    await expected('utxos_changed').getByText('depends on the addresses', { exact: true }).waitFor()
    await expected('mempool_entry').getByText('none in the last minute', { exact: true }).waitFor()
    await form().locator('textarea').fill(testAddress(1))
    await expected('mempool_entry').getByText('depends on the addresses', { exact: true }).waitFor()
    const total = page.getByTestId('expected-total')
    await total.getByText('Nothing is chosen yet').waitFor()
    await box('utxos_changed').check()
    await total.getByText(/and what the addresses bring\.$/).waitFor()
    await box('block_added').check()
    await total.getByText(`${events} credits a day`).waitFor()
    await total.getByText('the plan has 10,000,000.').waitFor()
    assert.match((await total.getAttribute('class')) ?? '', /warning/)
  })

  test('a test event that the receiver refused is shown as a failure with its reason, one that it took is not', async () => {
    await page.getByRole('button', { name: 'Close' }).click()
    await createWebhook(page, receiver.url)
    await page.getByRole('button', { name: 'Open' }).click()
    const send = () => page.getByRole('button', { name: 'Send test event' }).click()
    const color = (text: RegExp) =>
      page.getByText(text).evaluate((shown) => shown.ownerDocument.defaultView?.getComputedStyle(shown).color)
    await send()
    await page.getByText(/^Test event delivered: HTTP 204 in \d+ ms$/).waitFor()
    const good = await color(/^Test event delivered/)
    receiver.answer = status(503)
    await send()
    const failed = page.getByRole('alert').getByText(/^Test event failed: HTTP 503 .*in \d+ ms$/)
    await failed.waitFor()
    assert.notEqual(await color(/^Test event failed/), good)
    assert.equal(await page.locator('.note').count(), 0)
    await receiver.close()
    await send()
    await page
      .getByRole('alert')
      .getByText(/^Test event failed: (?!HTTP).+ in \d+ ms$/)
      .waitFor()
  })

  test('a plan is shown with both of its names, also where it is the one that has webhooks', async () => {
    await page.goto('/#/account')
    await page.reload()
    await page.locator('.badge.plan').getByText('developer (pro)', { exact: true }).waitFor()
    await page.locator('.stat', { hasText: 'Plan' }).getByText('developer (pro)', { exact: true }).waitFor()
    const [account] = (await service.parts.accounts.list()).filter(
      ({ email }) => email === 'hooks@example.com',
    )
    await service.parts.accounts.setPlan(account?.id ?? '', 'free')
    await page.goto('about:blank')
    await page.goto('/#/webhooks')
    await page.locator('.badge.plan').getByText('free', { exact: true }).waitFor()
    await page.getByText('Webhooks come with the developer (pro) plan').waitFor()
  })
})
