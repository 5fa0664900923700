/**
 * The dashboard in a real Chromium against the real service with its sandbox, in one walk: what an account
 * holder and an operator do, with pixels, keyboard, narrow screen and dark mode. After each step no page may
 * have had a console error or asked another host.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { SOURCES } from '../../src/core/source.ts'
import { type Receiver, startReceiver } from '../fakes/receiver.ts'
import { useSandboxService } from '../fakes/sandbox-service.ts'
import type { ChildService } from '../fakes/service.ts'
import { until } from '../until.ts'
import { becomeOperator, createKey, createWebhook, operatorToken, signUp } from './acts.ts'
import { skip, useChromium } from './browser.ts'
import { countColors } from './png-colors.ts'
import { HOLDER_VIEWS, OPERATOR_VIEWS, openView } from './views.ts'

const CANDLES_WITHIN_MS = 120_000
const FIRST_LOAD_BYTES = 150_000
const PHONE = { width: 360, height: 740 }
const CANDLE_COLORS = { up: [0x12, 0x92, 0x6f], down: [0xd3, 0x45, 0x3d] } as const

describe('the dashboard in Chromium', { skip }, () => {
  const sandbox = useSandboxService()
  const chromium = useChromium()
  let service: ChildService
  let receiver: Receiver
  let holder: Page
  let operator: Page
  let key = ''

  before(async () => {
    receiver = await startReceiver((_received, response) => void response.end('thank you'))
    service = (await sandbox()).service
    holder = (await chromium.open(service.url)).page
    operator = (await chromium.open(service.url)).page
    await becomeOperator(operator, await operatorToken(service))
  })
  after(() => receiver?.close())

  const statusOf = async () =>
    (await fetch(`${service.url}/v1/sources`, { headers: { 'X-API-Key': key } })).status

  test('sign up, create a key, copy it, use it with fetch, see usage move', async () => {
    await signUp(holder, 'holder@example.com')
    key = await createKey(holder, 'my first key')
    await holder.getByRole('button', { name: 'Copy key' }).click()
    await holder.getByText('Copied', { exact: true }).waitFor()
    assert.equal(await holder.evaluate('navigator.clipboard.readText()'), key)
    await holder.getByRole('button', { name: 'I have copied it' }).click()
    await holder.getByTestId('new-key').waitFor({ state: 'detached' })
    assert.ok(!(await holder.content()).includes(key), 'the key is not in the page any more')
    await holder.goto('/#/usage')
    await holder.getByTestId('credits-used').getByText('0', { exact: true }).waitFor()
    const status = await holder.evaluate(
      ([text]) =>
        fetch('/v1/sources', { headers: { 'X-API-Key': text ?? '' } }).then((reply) => reply.status),
      [key],
    )
    assert.equal(status, 200)
    await holder.getByTestId('credits-used').getByText('25', { exact: true }).waitFor()
    await holder.getByRole('cell', { name: 'my first key' }).waitFor()
  })

  test('a webhook against a local receiver: created, tested, its delivery seen, its request read', async () => {
    await createWebhook(holder, receiver.url)
    await holder.getByRole('button', { name: 'Open' }).click()
    await holder.getByRole('button', { name: 'Send test event' }).click()
    await holder.getByText(/Test event delivered: HTTP 200/).waitFor()
    assert.equal(receiver.received[0]?.headers['x-svc-event'], 'block_added')
    const row = holder.getByRole('row', { name: /delivered/ }).first()
    await row.getByRole('button', { name: 'Show' }).click()
    const shown = JSON.parse((await holder.getByTestId('request-body').textContent()) ?? '') as {
      id: string
    }
    const sent = receiver.received.find(({ events }) => events[0]?.id === shown.id)
    assert.deepEqual(JSON.parse(sent?.body ?? ''), shown)
    const head = (await holder.getByTestId('request-headers').textContent()) ?? ''
    assert.ok(head.includes(`POST ${receiver.url}`))
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'X-Svc-Signature']) {
      assert.ok(head.includes(`${name}${sent?.headers[name.toLowerCase()]}`), `${name} in ${head}`)
    }
    assert.match((await holder.getByTestId('response-headers').textContent()) ?? '', /Content-Length9/)
    assert.equal(await holder.getByTestId('response-body').textContent(), 'thank you')
    await pauseWebhook(holder)
  })

  test('exactly one delivery is sent again, and nothing else with it', async () => {
    await settled(() => receiver.received.length)
    const before = receiver.received.map(({ events }) => events[0]?.id)
    await holder.getByRole('button', { name: 'Resume', exact: true }).waitFor()
    const log = holder.getByTestId('deliveries')
    const row = log.locator('tbody tr')
    const number = '[data-label="Event"] .muted'
    const done = await row
      .filter({ has: holder.locator('[data-label="State"]').getByText('delivered', { exact: true }) })
      .first()
      .locator(number)
      .textContent()
    const seq = /^#(\d+)$/.exec(done ?? '')?.[1]
    await row
      .filter({ has: holder.locator(number).getByText(`#${seq}`, { exact: true }) })
      .getByRole('button', { name: 'Send again' })
      .first()
      .click()
    await holder.getByText(`Event #${seq} is sent again.`).waitFor()
    await holder.getByRole('button', { name: 'Resume', exact: true }).click()
    const again = () =>
      receiver.received.slice(before.length).filter(({ events }) => before.includes(events[0]?.id))
    await until('the delivery that was asked for', () => again().length > 0)
    await pauseWebhook(holder)
    await settled(() => receiver.received.length)
    assert.deepEqual(
      again().map(({ events }) => String(events[0]?.seq)),
      [seq],
    )
  })

  test('a range of events is sent again: from its first to its last, and nothing else with it', async () => {
    await settled(() => receiver.received.length)
    const before = receiver.received.flatMap(({ events }) => events)
    const seqs = before.map(({ seq }) => seq).filter((seq) => seq > 0)
    const wanted = [...new Set(seqs)].sort((a, b) => a - b).slice(1, 4)
    await holder.getByRole('button', { name: 'Replay', exact: true }).click()
    await holder.getByText('event number', { exact: true }).click()
    await holder.getByLabel('First event').fill(String(wanted[0]))
    await holder.getByLabel('Last event').fill(String(wanted.at(-1)))
    await holder.locator('form.replay').getByRole('button', { name: 'Replay', exact: true }).click()
    await holder.getByText('3 events are delivered again.').waitFor()
    await holder.getByRole('button', { name: 'Resume', exact: true }).click()
    const ids = new Set(before.map(({ id }) => id))
    const again = () =>
      receiver.received.slice(before.length).filter(({ events }) => ids.has(events[0]?.id ?? ''))
    await until('the range', () => again().length >= wanted.length)
    await pauseWebhook(holder)
    await settled(() => receiver.received.length)
    assert.deepEqual(
      again()
        .map(({ events }) => events[0]?.seq ?? 0)
        .sort((a, b) => a - b),
      wanted,
    )
    await holder.getByRole('button', { name: 'Close' }).click()
  })

  test('the chart renders candles: pixels of both colours', async () => {
    await untilCandles(service.url, key, { source: 'cexa_futures', least: 40 })
    await holder.goto('/#/explorer')
    await holder.locator('.chart[data-candles]:not([data-candles="0"]) canvas').first().waitFor()
    // Drawn a moment after the data is there.
    await until('pixels of both colours', async () => {
      const counts = countColors(await holder.locator('.chart').screenshot(), CANDLE_COLORS)
      return counts.up > 200 && counts.down > 200
    })
  })

  test('every source has its chart, and each shows the call behind it with its price', async () => {
    for (const source of SOURCES) {
      const row = await untilCandles(service.url, key, { source, least: 1 })
      await holder.getByLabel('Source', { exact: true }).selectOption(source)
      // Whether the market that is chosen for the reader has been traded yet is chance.
      if (row?.market_id !== undefined)
        await holder.goto(
          `/#/explorer/candles?source=${source}&market=${row.market_id}&outcome=${row.outcome}`,
        )
      const call = holder.locator('.api-call', { hasText: `/v1/candles?symbol=BTC&source=${source}` })
      await call.getByText(/[\d,]+ credits/).waitFor()
      const chart = holder.locator('.chart[data-candles]:not([data-candles="0"]) canvas').first()
      await chart.waitFor()
    }
  })

  test('the book viewer shows every source with books, at the time that was asked for', async () => {
    await holder.goto('/#/explorer/books')
    for (const source of ['perpdex', 'predmkt_a', 'predmkt_b']) {
      await holder.getByLabel('Source', { exact: true }).selectOption(source)
      await holder.getByRole('button', { name: 'Live', exact: true, pressed: true }).waitFor()
      await holder.locator('.ladder tbody td').first().waitFor()
      const slider = holder.getByLabel('Time of the book', { exact: true })
      const [from, to] = await Promise.all(['min', 'max'].map((name) => slider.getAttribute(name)))
      const asked = Math.round((Number(from) + Number(to)) / 1000) * 500
      await slider.fill(String(asked))
      await holder.getByRole('button', { name: 'Live', exact: true, pressed: false }).waitFor()
      const time = new Date(asked).toISOString()
      await holder.locator('.api-call', { hasText: `source=${source}&symbol=BTC&time=${time}` }).waitFor()
      await until('the book of that time', async () => {
        const text = (await holder.getByTestId('book-time').textContent()) ?? ''
        // What was shown live is newer than the middle of the slider.
        return Date.parse(`${text.replace(' ', 'T')}Z`) <= asked
      })
      await holder.getByRole('button', { name: 'Live', exact: true }).click()
    }
  })

  test('the live tail shows events of the stream', async () => {
    await holder.goto('/#/explorer/events')
    await holder.locator('.tail li').nth(2).waitFor()
  })

  test('the first load stays under 150 kB compressed', async (t) => {
    const { page, context } = await chromium.open(service.url)
    await context.addCookies(await holder.context().cookies())
    const session = await context.newCDPSession(page)
    let bytes = 0
    await session.send('Network.enable')
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    await page.goto('/')
    await page.locator('.chart[data-candles]:not([data-candles="0"])').waitFor()
    t.diagnostic(`${bytes} bytes`)
    assert.ok(bytes > 20_000 && bytes < FIRST_LOAD_BYTES, `${bytes} bytes`)
    await context.close()
  })

  test('every view of holder and operator on a phone in the dark: nothing scrolls sideways, all is dark', async () => {
    for (const [person, views] of [
      [holder, HOLDER_VIEWS],
      [operator, OPERATOR_VIEWS],
    ] as const) {
      const { page, context } = await chromium.open(service.url, { ...PHONE, dark: true })
      await page.goto('/')
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
      await checkPhone(page, 'sign-in')
      await context.addCookies(await person.context().cookies())
      await page.reload()
      for (const view of views) {
        await openView(page, view)
        await checkPhone(page, view.name)
      }
      await context.close()
    }
  })

  test('the theme button changes the colours, and a reload keeps them', async () => {
    const { page, context } = await chromium.open(service.url)
    await context.addCookies(await holder.context().cookies())
    await page.goto('/#/account')
    await page.getByRole('button', { name: 'Dark theme' }).click()
    await page.getByRole('button', { name: 'Light theme' }).waitFor()
    await until('dark', async () => (await backgroundOf(page)) < 40)
    await page.reload()
    await page.getByRole('button', { name: 'Light theme' }).waitFor()
    assert.ok((await backgroundOf(page)) < 40)
    await page.getByRole('button', { name: 'Light theme' }).click()
    await until('light', async () => (await backgroundOf(page)) > 220)
    await context.close()
  })

  test('the API reference, the guide and the error page load without a fault, on a phone too', async () => {
    const { page, context } = await chromium.open(service.url, PHONE)
    await page.goto('/docs')
    const limits = page.locator('details.operation#getV1Limits')
    await limits.waitFor({ timeout: 60_000 })
    await page.getByLabel('API key').fill(key)
    await limits.locator('summary').first().click()
    await limits.getByRole('button', { name: 'Send' }).click()
    await limits.locator('.answer b').getByText('200', { exact: true }).waitFor()
    await page.goto('/docs/errors')
    await page.getByRole('heading', { name: 'Errors' }).waitFor()
    await page.goto('/guide/credits')
    await page.getByRole('tab', { name: 'Python' }).first().click()
    await page.locator('figure:visible', { hasText: 'import tapeline' }).first().waitFor()
    await page.getByLabel('Search the guide').fill('resume seq')
    await page.locator('#found a').first().waitFor()
    await context.close()
  })

  test('a key is created, copied and put away with the keyboard alone', async () => {
    await holder.goto('/#/keys')
    await holder.reload()
    await holder.getByRole('heading', { name: 'API keys' }).waitFor()
    await holder.keyboard.press('Tab')
    assert.equal(await focused(holder), 'Skip to content')
    await holder.keyboard.press('Enter')
    await holder.keyboard.press('Tab')
    assert.equal(await focused(holder), 'Create key')
    await holder.keyboard.press('Enter')
    await holder.locator('dialog').waitFor()
    await tabTo(holder, 'document.activeElement.name === "name"')
    await holder.keyboard.type('typed')
    await tabTo(holder, 'document.activeElement.textContent === "Create key"')
    await holder.keyboard.press('Enter')
    const typed = await holder.getByTestId('new-key').textContent()
    await tabTo(holder, 'document.activeElement.textContent === "Copy key"')
    await holder.keyboard.press('Enter')
    await holder.getByText('Copied', { exact: true }).waitFor()
    assert.equal(await holder.evaluate('navigator.clipboard.readText()'), typed)
    await holder.keyboard.press('Escape')
    await holder.getByRole('cell', { name: 'typed' }).waitFor()
    await holder.locator('dialog').waitFor({ state: 'detached' })
  })

  test('the operator invites a customer and announces maintenance, which the customer and /status show until it is deleted', async () => {
    await operator.goto('/#/operator')
    await operator.getByText('Last backup').waitFor()
    await operator.getByRole('button', { name: 'New notice' }).click()
    await operator.getByText('maintenance', { exact: true }).click()
    await operator.getByLabel('Title').fill('New disks')
    await operator.getByRole('button', { name: 'Publish' }).click()
    await operator.getByTestId('notices').getByText('New disks').waitFor()
    await operator.getByRole('button', { name: 'New account' }).click()
    await operator.getByLabel('E-mail').fill('invited@example.com')
    await operator.getByRole('button', { name: 'Create account' }).click()
    const link = await operator.getByTestId('new-link').innerText()
    await operator.getByRole('button', { name: 'I have copied it' }).click()

    const { page, context } = await chromium.open(service.url, { ...PHONE, dark: true })
    await page.goto(link)
    await page.getByText('Choose the password that invited@example.com signs in with.').waitFor()
    await page.getByLabel('Password').fill('chosen by the customer')
    await page.getByRole('button', { name: 'Set password' }).click()
    await page.getByRole('region', { name: 'maintenance' }).getByText('New disks').waitFor()
    for (const path of ['/plans', '/status']) {
      await page.goto(path)
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width, path)
      const tooWide =
        "[...document.querySelectorAll('.card')].filter((card) => card.scrollWidth > card.clientWidth).length"
      assert.equal(await page.evaluate(tooWide), 0, `${path}: nothing is read by scrolling sideways`)
    }
    await page.getByRole('heading', { name: 'New disks' }).waitFor()
    await context.close()
    await operator.getByTestId('notices').getByRole('button', { name: 'Delete' }).click()
    await operator.getByRole('button', { name: 'Delete notice' }).click()
    await operator.getByTestId('notices').getByText('None in the last 90 days.').waitFor()
  })

  test('the operator pauses the account: 403; resumes it; the holder revokes the key: 401', async () => {
    const toggle = async (name: string) => {
      await operator.goto('/#/operator')
      await operator
        .getByRole('row', { name: /holder@example.com/ })
        .getByRole('button', { name: 'Manage' })
        .click()
      await operator.getByRole('button', { name }).click()
      if (name === 'Pause account') {
        // Asks first: whoever cancels has changed nothing.
        const asking = operator.locator('dialog').last()
        await asking.getByRole('button', { name: 'Cancel' }).click()
        assert.equal(await statusOf(), 200)
        await operator.getByRole('button', { name }).click()
        await asking.getByRole('button', { name }).click()
      }
      await operator
        .getByRole('button', { name: name === 'Pause account' ? 'Resume account' : 'Pause account' })
        .waitFor()
      await operator.getByRole('button', { name: 'Close' }).click()
    }
    await toggle('Pause account')
    await until('the pause', async () => (await statusOf()) === 403)
    await toggle('Resume account')
    await until('the resumption', async () => (await statusOf()) === 200)
    await holder.goto('/#/keys')
    await holder
      .getByRole('row', { name: /my first key/ })
      .getByRole('button', { name: 'Revoke' })
      .click()
    await holder.getByRole('button', { name: 'Revoke key' }).click()
    await until('the revocation', async () => (await statusOf()) === 401)
    await operator.goto('/#/operator')
    await operator.getByText('account.paused').first().waitFor()
  })
})

async function checkPhone(page: Page, name: string): Promise<void> {
  await page.waitForTimeout(250)
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width, name)
  const inside = await page.evaluate(
    "document.querySelector('dialog') ? document.querySelector('dialog').scrollWidth - document.querySelector('dialog').clientWidth : 0",
  )
  assert.equal(inside, 0, `${name}: the dialog scrolls sideways`)
  for (const part of ['html', '.card', 'dialog']) {
    if ((await page.locator(part).count()) > 0)
      assert.ok((await backgroundOf(page, part)) < 48, `${name} ${part}`)
  }
}

/** The red part of a background. */
async function backgroundOf(page: Page, part = 'html'): Promise<number> {
  const color = String(
    await page.evaluate(`getComputedStyle(document.querySelector('${part}')).backgroundColor`),
  )
  return Number(/\d+/.exec(color)?.[0])
}

async function pauseWebhook(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Pause', exact: true }).click()
  await page.getByRole('button', { name: 'Resume', exact: true }).waitFor()
}

/** Waits until a number has not changed for a while. */
async function settled(read: () => number): Promise<void> {
  let last = read()
  let sinceMs = performance.now()
  const isSteady = () => {
    if (read() !== last) {
      last = read()
      sinceMs = performance.now()
    }
    return performance.now() - sinceMs > 600
  }
  await until('a number that no longer changes', isSteady)
}

const focused = (page: Page) => page.evaluate('document.activeElement.textContent')

async function tabTo(page: Page, condition: string): Promise<void> {
  for (let presses = 0; presses < 20; presses++) {
    if (await page.evaluate(condition)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the keyboard does not reach ${condition}`)
}

/** The sandbox's history comes in source by source. */
async function untilCandles(
  url: string,
  key: string,
  wanted: { source: string; least: number },
): Promise<{ market_id?: string; outcome?: string } | undefined> {
  const path = `/v1/candles?symbol=BTC&source=${wanted.source}&interval=15m&limit=60`
  let newest: { market_id?: string; outcome?: string } | undefined
  const enough = async () => {
    const reply = await fetch(url + path, { headers: { 'X-API-Key': key } })
    const page = (await reply.json()) as { data?: { market_id?: string; outcome?: string }[] }
    newest = page.data?.[0]
    return (page.data?.length ?? 0) >= wanted.least
  }
  await until(`${wanted.least} candles of ${wanted.source}`, enough, CANDLES_WITHIN_MS)
  return newest
}
