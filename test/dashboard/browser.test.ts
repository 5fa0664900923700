/**
 * The dashboard in a real Chromium against the real service with its sandbox, in one walk: what an account
 * holder and an operator do, with pixels, keyboard, narrow screen and dark mode.
 */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { inflateSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { type ChildService, dataFolder, spawnService } from '../fakes/service.ts'
import { becomeOperator, createKey, openPage, operatorToken, signUp, skip, startBrowser } from './browser.ts'

const BARS_WITHIN_MS = 60_000

describe('the dashboard in Chromium', { skip }, () => {
  const folder = dataFolder()
  const received: string[] = []
  let service: ChildService
  let browser: Browser
  let receiver: Server
  let holder: Page
  let faults: string[]
  let operatorPage: Page
  let key = ''

  before(async () => {
    receiver = createServer((request, response) => {
      received.push(String(request.headers['x-svc-event']))
      request.resume().on('end', () => response.writeHead(204).end())
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    service = await spawnService(folder.path, {
      env: {
        TAPELINE_SANDBOX: 'on',
        TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on',
        TAPELINE_SIGN_UP_PLAN: 'business',
      },
    })
    browser = await startBrowser()
    const watched = await openPage(browser, service.url)
    holder = watched.page
    faults = watched.faults
    const boss = await openPage(browser, service.url)
    operatorPage = boss.page
    await becomeOperator(operatorPage, await operatorToken(service))
  })
  after(async () => {
    await browser?.close()
    await service?.kill('SIGTERM')
    receiver?.close()
    folder.remove()
  })

  const statusOf = async () =>
    (await fetch(`${service.url}/v1/sources`, { headers: { 'X-API-Key': key } })).status

  test('sign up, create a key, copy it, use it with fetch, see usage move', async () => {
    await signUp(holder, 'holder@example.com')
    key = await createKey(holder, 'my first key')
    await holder.getByRole('button', { name: 'Copy key' }).click()
    await holder.getByText('Copied', { exact: true }).waitFor()
    assert.equal(await holder.evaluate('navigator.clipboard.readText()'), key)
    await holder.getByRole('button', { name: 'I have copied it' }).click()
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

  test('a webhook against a local receiver: created, tested, its delivery seen', async () => {
    const { port } = receiver.address() as AddressInfo
    await holder.goto('/#/webhooks')
    await holder.getByRole('button', { name: 'Create webhook' }).click()
    await holder.getByLabel('Receiver').fill(`http://127.0.0.1:${port}/hook`)
    await holder.locator('dialog').getByRole('button', { name: 'Create webhook' }).click()
    await holder.locator('code', { hasText: 'whsec_' }).waitFor()
    await holder.getByRole('button', { name: 'I have copied it' }).click()
    await holder.getByRole('button', { name: 'Open' }).click()
    await holder.getByRole('button', { name: 'Send test event' }).click()
    await holder.getByText(/Test event: 204/).waitFor()
    await holder.getByTestId('deliveries').getByText('delivered').first().waitFor()
    assert.ok(received.includes('block_added'), received.join())
    await holder.getByRole('button', { name: 'Close' }).click()
  })

  test('the chart renders candles: pixels of both colours, within the time of a first load', async (t) => {
    await untilBars(service.url, key)
    const started = performance.now()
    await holder.goto('/')
    await holder.reload()
    await holder.locator('.chart[data-bars]:not([data-bars="0"]) canvas').first().waitFor()
    const elapsedMs = performance.now() - started
    t.diagnostic(`first chart after ${Math.round(elapsedMs)} ms`)
    await holder.waitForTimeout(400)
    const counts = countColors(await holder.locator('.chart').screenshot())
    assert.ok(counts.up > 200 && counts.down > 200, JSON.stringify(counts))
    const limitMs = process.env.TAPELINE_SOAK ? 1_500 : 8_000
    assert.ok(elapsedMs < limitMs, `first chart after ${Math.round(elapsedMs)} ms`)
  })

  test('the first load stays under 150 kB compressed', async () => {
    const { page, context } = await openPage(browser, service.url)
    await context.addCookies(await holder.context().cookies())
    const session = await context.newCDPSession(page)
    let bytes = 0
    await session.send('Network.enable')
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    await page.goto('/')
    await page.locator('.chart').waitFor()
    assert.ok(bytes > 20_000 && bytes < 150_000, `${bytes} bytes`)
    await context.close()
  })

  test('360 px wide: no view scrolls sideways; dark mode is dark', async () => {
    const { page, context } = await openPage(browser, service.url, { dark: true, width: 360, height: 740 })
    await context.addCookies(await holder.context().cookies())
    for (const view of [
      'explorer',
      'explorer/books',
      'explorer/markets',
      'explorer/events',
      'keys',
      'usage',
      'webhooks',
      'status',
      'account',
    ]) {
      await page.goto(`/#/${view}`)
      await page.locator('h1').waitFor()
      await page.waitForTimeout(300)
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 360, view)
    }
    const background = String(
      await page.evaluate('getComputedStyle(document.documentElement).backgroundColor'),
    )
    const [red = 255] = background.match(/\d+/g)?.map(Number) ?? []
    assert.ok(red < 40, background)
    await context.close()
  })

  test('a key is created with the keyboard alone', async () => {
    await holder.goto('/#/keys')
    await holder.getByRole('heading', { name: 'API keys' }).waitFor()
    await holder.locator('main').focus()
    await holder.keyboard.press('Tab')
    assert.equal(await holder.evaluate('document.activeElement.textContent'), 'Create key')
    await holder.keyboard.press('Enter')
    await holder.locator('dialog').waitFor()
    await tabTo(holder, 'document.activeElement.name === "name"')
    await holder.keyboard.type('typed')
    await holder.keyboard.press('Enter')
    await holder.getByTestId('new-key').waitFor()
    await holder.keyboard.press('Escape')
    await holder.getByRole('cell', { name: 'typed' }).waitFor()
  })

  test('the operator pauses the account: 403; resumes it; the holder revokes the key: 401', async () => {
    const toggle = async (name: string) => {
      await operatorPage.goto('/#/operator')
      await operatorPage
        .getByRole('row', { name: /holder@example.com/ })
        .getByRole('button', { name: 'Manage' })
        .click()
      await operatorPage.getByRole('button', { name }).click()
      await operatorPage
        .getByRole('button', { name: name === 'Pause account' ? 'Resume account' : 'Pause account' })
        .waitFor()
      await operatorPage.getByRole('button', { name: 'Close' }).click()
    }
    await toggle('Pause account')
    await until(async () => (await statusOf()) === 403)
    await toggle('Resume account')
    await until(async () => (await statusOf()) === 200)
    await holder.goto('/#/keys')
    await holder
      .getByRole('row', { name: /my first key/ })
      .getByRole('button', { name: 'Revoke' })
      .click()
    await holder.getByRole('button', { name: 'Revoke key' }).click()
    await until(async () => (await statusOf()) === 401)
    await operatorPage.goto('/#/operator')
    await operatorPage.getByText('account.paused').first().waitFor()
  })

  test('no console error and no request to another host in the whole walk', () => {
    assert.deepEqual(faults, [])
  })
})

async function tabTo(page: Page, condition: string): Promise<void> {
  for (let presses = 0; presses < 12; presses++) {
    if (await page.evaluate(condition)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the keyboard does not reach ${condition}`)
}

async function untilBars(url: string, key: string): Promise<void> {
  const path = '/v1/candles?symbol=BTC&source=cexa_futures&interval=15m&limit=60'
  await until(async () => {
    const reply = await fetch(url + path, { headers: { 'X-API-Key': key } })
    const page = (await reply.json()) as { data?: unknown[] }
    return (page.data?.length ?? 0) >= 40
  }, BARS_WITHIN_MS)
}

async function until(condition: () => Promise<boolean>, withinMs = 10_000): Promise<void> {
  const endMs = Date.now() + withinMs
  while (!(await condition())) {
    if (Date.now() > endMs) throw new Error('it did not happen')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Pixels of the two candle colours in a PNG (8 bits per channel, no interlace, as Chromium writes it). */
function countColors(png: Buffer): { up: number; down: number } {
  const width = png.readUInt32BE(16)
  const channels = png[25] === 6 ? 4 : 3
  const parts: Buffer[] = []
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  }
  const data = inflateSync(Buffer.concat(parts))
  const stride = width * channels
  const counts = { up: 0, down: 0 }
  let above = new Uint8Array(stride)
  for (let row = 0; (row + 1) * (stride + 1) <= data.length; row++) {
    const filter = data[row * (stride + 1)]
    const line = Uint8Array.from(data.subarray(row * (stride + 1) + 1, (row + 1) * (stride + 1)))
    for (let i = 0; i < stride; i++) {
      const left = i >= channels ? (line[i - channels] ?? 0) : 0
      const up = above[i] ?? 0
      const corner = i >= channels ? (above[i - channels] ?? 0) : 0
      line[i] = (line[i] ?? 0) + predicted(filter ?? 0, left, up, corner)
    }
    for (let i = 0; i < stride; i += channels) {
      const [red = 0, green = 0, blue = 0] = line.subarray(i, i + 3)
      if (near(red, 0x12) && near(green, 0x92) && near(blue, 0x6f)) counts.up++
      if (near(red, 0xd3) && near(green, 0x45) && near(blue, 0x3d)) counts.down++
    }
    above = line
  }
  return counts
}

const near = (a: number, b: number) => Math.abs(a - b) <= 4

function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  if (filter !== 4) return 0
  const guess = left + up - corner
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)]
  return a <= b && a <= c ? left : b <= c ? up : corner
}
