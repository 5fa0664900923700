/** The explorer opens exactly what its address names, and what it shows can be read off the address again. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { storesIn } from '../fakes/stores.ts'
import { until } from '../until.ts'
import { signUp } from './acts.ts'
import { skip, useChromium } from './browser.ts'
import { fillBooks, fillCharts, fillSeconds } from './known-data.ts'
import { fillPredictions, type KnownMarket, SYMBOL, type Venue } from './known-markets.ts'

/** What a chart writes is drawn on a canvas: the page keeps the texts. */
const KEEP_TEXTS = `
  globalThis.drawnTexts = []
  const { fillText } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    drawnTexts.push(text)
    return fillText.call(this, text, ...rest)
  }`
const VENUES: readonly Venue[] = ['predmkt_a', 'predmkt_b']

describe('the explorer and its address', { skip }, () => {
  const chromium = useChromium()
  let service: TestService
  let store: EnvironmentStore
  let page: Page
  let known: KnownMarket[]

  before(async () => {
    service = await startTestService({ env: { TAPELINE_SIGN_UP_PLAN: 'wide' } })
    store = await storesIn(service.folder).environment('test')
    const nowMs = Date.now()
    known = await fillPredictions(store, nowMs)
    await fillCharts(store, nowMs)
    await fillSeconds(store, nowMs)
    const opened = await chromium.open(service.url)
    page = opened.page
    await opened.context.addInitScript(KEEP_TEXTS)
    await signUp(page, 'explorer@example.com')
  })
  after(async () => {
    await store?.close()
    await service?.stop()
  })

  const call = (text: string) => page.locator('.api-call', { hasText: text }).first()
  const marketShown = () => page.getByLabel('Market', { exact: true }).inputValue()
  const address = () => new URL(page.url()).hash
  const drawnTexts = () => page.evaluate('drawnTexts') as Promise<string[]>

  /** The browser itself notes an answer that is no success. */
  function forgive(status: number): void {
    const others = chromium.faults.filter((text) => !text.includes(` ${status} `))
    chromium.faults.splice(0, chromium.faults.length, ...others)
  }

  async function expectChart({ id, source, price, candles }: KnownMarket): Promise<void> {
    await page.getByRole('heading', { name: `${SYMBOL} · ${source}`, exact: true }).waitFor()
    await until(`the chart of ${id}`, async () => (await marketShown()) === id)
    assert.equal(await page.getByLabel('Symbol', { exact: true }).inputValue(), SYMBOL)
    if (candles === 0) await page.getByText('No candles yet').waitFor()
    else {
      await page.locator('.quote strong').getByText(String(price), { exact: true }).waitFor()
      await page.getByText(candles === 1 ? /· 1 candle$/ : new RegExp(`· ${candles} candles$`)).waitFor()
    }
  }

  async function expectBook({ id, source, price, stage }: KnownMarket): Promise<void> {
    await page.getByRole('heading', { name: `${SYMBOL} · ${source}`, exact: true }).waitFor()
    await until(`the book of ${id}`, async () => (await marketShown()) === id)
    await call(`market_id=${id}`).waitFor()
    if (stage === 'upcoming' && source === 'predmkt_b')
      await page.getByText('The window of this market').waitFor()
    else await page.locator('.stat', { hasText: 'Mid' }).getByText(String(price), { exact: true }).waitFor()
  }

  for (const source of VENUES) {
    test(`Chart and Book of every listed market of ${source} open that market`, async () => {
      for (const market of known.filter((one) => one.source === source && one.stage !== 'ended')) {
        for (const button of ['Chart', 'Book'] as const) {
          await page.goto(`/#/explorer/markets?symbol=${SYMBOL}&source=${source}`)
          await page.locator(`tr[data-row="${market.id}"]`).getByRole('link', { name: button }).click()
          await (button === 'Chart' ? expectChart : expectBook)(market)
        }
      }
    })

    test(`a pasted link opens the market of ${source} in every stage, and so do reload, back and forward`, async () => {
      const visits = known
        .filter((one) => one.source === source)
        .flatMap((market) => [
          { view: 'candles', market, expect: expectChart },
          { view: 'books', market, expect: expectBook },
        ])
      await page.goto('about:blank')
      for (const { view, market, expect } of visits) {
        await page.goto(`/#/explorer/${view}?market=${market.id}`)
        await expect(market)
      }
      await page.reload()
      for (const [step, place] of [
        [() => undefined, -1],
        [() => page.goBack(), -2],
        [() => page.goBack(), -3],
        [() => page.goForward(), -2],
      ] as const) {
        await step()
        const visit = visits.at(place)
        await visit?.expect(visit.market)
      }
    })
  }

  test('an identifier that no market has is named, and no other market is shown in its place', async () => {
    for (const view of ['candles', 'books']) {
      await page.goto(`/#/explorer/${view}?source=predmkt_b&market=KXNOTHING`)
      await page.getByText('No market of predmkt_b is known as KXNOTHING.').waitFor()
      await page.getByText('This market cannot be shown').waitFor()
      assert.equal(await page.locator('.chart, .ladder').count(), 0)
      assert.equal(await page.locator('.api-call').count(), 0)
    }
    await page.goto('/#/account')
    forgive(404)
  })

  test('symbol, source, interval, market, outcome and time are in the address and come back from it', async () => {
    await page.goto('/#/explorer')
    await until('the address of the first chart', () =>
      address().endsWith('candles?symbol=BTC&source=cexa_futures&interval=15m'),
    )
    await page.getByLabel('Symbol', { exact: true }).selectOption('ETH')
    await page.getByText('1h', { exact: true }).click()
    await until(
      'the address of what was chosen',
      () => address() === '#/explorer/candles?symbol=ETH&source=cexa_futures&interval=1h',
    )
    await page.getByText('15m', { exact: true }).click()
    await call('symbol=ETH&source=cexa_futures&interval=15m').waitFor()
    await page.locator('.chart[data-candles="120"] canvas').first().waitFor()
    const at = new Date(Math.floor(Date.now() / 900_000 - 40) * 900_000).toISOString()
    const field = page.getByLabel('Time of the chart (UTC)')
    // On a busy machine what is typed may be lost while the chart is drawn: then it is typed again.
    await until('the time in the address', async () => {
      await field.fill(at.slice(0, 19))
      await field.press('Enter')
      return address().endsWith(`&interval=15m&time=${at}`)
    })
    await page.reload()
    const shown = at.slice(0, 16).replace('T', ' ')
    await page.locator('.quote-when', { hasText: `${shown} UTC` }).waitFor()
    await call('symbol=ETH&source=cexa_futures&interval=15m&end=').waitFor()
    await page.getByRole('button', { name: 'Newest' }).click()
    await until('no time in the address', () => !address().includes('time='))
    await page.mouse.move(0, 0)
    await page.locator('.quote-when', { hasNotText: `${shown} UTC` }).waitFor()
    await page.goBack()
    await page.locator('.quote-when', { hasText: `${shown} UTC` }).waitFor()

    await page.goto('/#/explorer/candles?symbol=ETH&source=predmkt_a')
    await page.getByText('Down', { exact: true }).click()
    await until('market and outcome in the address', () => /&market=0x\w{64}&outcome=Down/.test(address()))
    await page.getByText('Order book', { exact: true }).click()
    await until('the book of that leg', () => /books\?.*&market=0x\w{64}&outcome=Down/.test(address()))
    await page.getByLabel('Time of the book', { exact: true }).press('Home')
    await until('the time of the book', () => /&time=\d{4}-/.test(address()))
    const time = /time=([^&]+)/.exec(address())?.[1] ?? ''
    await page.reload()
    await call(`&time=${time}&include_orderbook=true`).waitFor()
  })

  test('moving the chart back puts its time into the address', async () => {
    await page.goto('/#/explorer/candles?symbol=ETH&source=cexa_futures&interval=15m')
    await page.locator('.chart[data-candles="120"] canvas').first().waitFor()
    const box = await page.locator('.chart').boundingBox()
    assert.ok(box)
    await page.mouse.move(box.x + 200, box.y + 100)
    await page.mouse.down()
    await page.mouse.move(box.x + 700, box.y + 100, { steps: 8 })
    await page.mouse.up()
    await until('the time', () => /&time=\d{4}-/.test(address()))
    const time = Date.parse(/time=([^&]+)/.exec(address())?.[1] ?? '')
    assert.ok(
      time < Date.now() - 10 * 900_000 && time > Date.now() - 120 * 900_000,
      new Date(time).toISOString(),
    )
    await page.reload()
    const shown = new Date(time).toISOString().slice(0, 16).replace('T', ' ')
    await page.locator('.quote-when', { hasText: `${shown} UTC` }).waitFor()
  })

  test('the axis of a probability has no label below 0 or above 1', async () => {
    const [unlikely] = known
    assert.ok(unlikely)
    await page.goto('/#/account')
    await page.goto(`/#/explorer/candles?market=${unlikely.id}`)
    await page.reload()
    await expectChart(unlikely)
    let labels: number[] = []
    await until('the labels of the axis', async () => {
      labels = (await drawnTexts()).filter((text) => /^[-−]?[\d.,]+$/.test(text)).map(Number)
      return labels.some((value) => value > 0 && value < 0.02)
    })
    assert.deepEqual(
      labels.filter((value) => !(value >= 0 && value <= 1) || Object.is(value, -0)),
      [],
    )
  })

  test('candles of a second show their seconds, prices their thousands', async () => {
    await page.goto('/#/account')
    await page.goto('/#/explorer/candles?symbol=BTC&source=cexa_futures&interval=1s')
    await page.reload()
    await page.getByText(/\d\d:\d\d:\d\d UTC/).waitFor()
    let texts: string[] = []
    await until('times with seconds and prices with thousands', async () => {
      texts = await drawnTexts()
      return [/^\d\d:\d\d:\d\d$/, /^\d\d,\d{3}\.\d\d$/].every((form) => texts.some((text) => form.test(text)))
    })
    assert.deepEqual(
      texts.filter((text) => /^\d{4,}(\.\d+)?$/.test(text) && Number(text) > 3_000),
      [],
    )
  })

  test('a live book keeps its height while its levels, and the book itself, come and go', async () => {
    const wide = new Set<number>()
    const narrow = new Set<number>()
    const measure = async () => {
      for (const [width, heights] of [
        [360, narrow],
        [1280, wide],
      ] as const) {
        await page.setViewportSize({ width, height: 860 })
        const frame = await page.locator('.card').boundingBox()
        heights.add(Math.round(frame?.height ?? 0))
      }
    }
    await page.goto('/#/explorer/books?symbol=SOL&source=perpdex')
    await page.getByText('No book was recorded at that moment').waitFor()
    await measure()
    for (const [bids, asks] of [
      [20, 20],
      [3, 1],
      [0, 5],
    ] as const) {
      await fillBooks(store, Date.now(), { bids, asks })
      if (bids === 20) await page.goto('/#/explorer/books?symbol=BTC&source=perpdex')
      await page.getByText(`of ${bids} bids, ${asks} ask${asks === 1 ? '' : 's'}`, { exact: true }).waitFor()
      await measure()
    }
    forgive(501)
    assert.deepEqual([wide.size, narrow.size], [1, 1], `${[...wide]}; on a phone ${[...narrow]}`)
  })

  test('a live book that nobody sees requests nothing', async () => {
    await fillBooks(store, Date.now(), { bids: 2, asks: 2 })
    await page.goto('/#/explorer/books?symbol=BTC&source=perpdex')
    await page.getByText('of 2 bids, 2 asks', { exact: true }).waitFor()
    let books = 0
    page.on('request', (request) => {
      if (request.url().includes('/snapshots/at')) books++
    })
    await until('a book of each second', () => books >= 2)
    await page.evaluate(
      "Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })",
    )
    await page.waitForTimeout(500)
    books = 0
    await page.waitForTimeout(2_500)
    assert.equal(books, 0)
    await page.evaluate('delete document.visibilityState')
    await until('books again', () => books > 0)
    forgive(501)
  })
})
