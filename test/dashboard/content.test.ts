/** What the views show of data that is known to the last row: pixels of the chart, numbers, charts and files. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { DatasetStatusView, SourceStatusView, StatusView, UsageView } from '../../src/dashboard/wire.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { startTestService, type TestService, WIDE_PLAN } from '../fakes/service.ts'
import { storesIn } from '../fakes/stores.ts'
import { until } from '../until.ts'
import { createKey, signUp } from './acts.ts'
import { skip, useChromium } from './browser.ts'
import { BUSY, fillCharts, fillMarkets, MISSED_CANDLES, marketId, OPEN_MARKETS, QUIET } from './known-data.ts'
import { countColors } from './png-colors.ts'

/** As in the light theme; the shade of a gap lies over the white of the card. */
const COLORS = { funding: [0x7c, 0x5c, 0xd6], gap: [247, 228, 205] } as const
const FUNDING_PANE = 130
const RATE = 3

describe('the dashboard with known data', { skip }, () => {
  const chromium = useChromium()
  let service: TestService
  let store: EnvironmentStore
  let page: Page

  before(async () => {
    service = await startTestService({
      env: { TAPELINE_SIGN_UP_PLAN: 'wide' },
      plans: [WIDE_PLAN, { name: 'narrow', extends: 'business', requestsPerSecond: RATE }],
    })
    store = await storesIn(service.folder).environment('test')
    await fillCharts(store, Date.now())
    await fillMarkets(store, Date.now())
    page = (await chromium.open(service.url)).page
    await signUp(page, 'known@example.com')
  })
  after(async () => {
    await store?.close()
    await service?.stop()
  })

  const drawnColors = async () => {
    await page.locator('.chart[data-candles]:not([data-candles="0"]) canvas').first().waitFor()
    await page.waitForTimeout(300)
    const box = await page.locator('.chart').boundingBox()
    assert.ok(box)
    const low = { ...box, y: box.y + box.height - FUNDING_PANE, height: FUNDING_PANE }
    const [all, pane] = [await page.screenshot({ clip: box }), await page.screenshot({ clip: low })]
    return { all: countColors(all, COLORS), pane: countColors(pane, COLORS), box }
  }

  test('the chart has funding in a pane below the candles, and shades the candles that were not recorded', async () => {
    await page.goto('/#/explorer')
    // Rates and gaps are drawn when they have come, after the candles.
    let btc = await drawnColors()
    await until('funding and gaps', async () => {
      btc = await drawnColors()
      return btc.all.funding > 500 && btc.all.gap > 0 && btc.pane.funding === btc.all.funding
    })
    // The label of the last rate is in the same pane.
    assert.equal(btc.pane.funding, btc.all.funding, 'nothing of it among the candles')
    // Ten of the 120 candles over the whole height of the candles, less what is drawn on top of them.
    const missed = (MISSED_CANDLES.to - MISSED_CANDLES.from) / 160
    const expected = btc.box.width * missed * (btc.box.height - FUNDING_PANE)
    assert.ok(
      btc.all.gap > expected * 0.6 && btc.all.gap < expected * 1.4,
      `${btc.all.gap} of about ${expected}`,
    )
    await page.getByLabel('Symbol', { exact: true }).selectOption('ETH')
    await page.locator('.api-call', { hasText: 'symbol=ETH' }).first().waitFor()
    // The chart of before is there until the new one is.
    const isPlain = ({ all }: typeof btc) => all.gap === 0 && all.funding === 0
    await until('another chart', async () => isPlain(await drawnColors()))
    const eth = await drawnColors()
    assert.equal(eth.all.gap, 0, 'a whole series has no shade')
    assert.equal(eth.all.funding, 0, 'no rates, no pane')
    await page.getByLabel('Symbol', { exact: true }).selectOption('BTC')
  })

  test('prediction markets are listed page by page, the next to end first, every one once', async () => {
    await page.goto('/#/explorer/markets')
    const rows = page.getByTestId('markets').locator('tbody tr')
    const shown = async (least: number) => {
      await until(`${least} rows`, async () => (await rows.count()) === least)
      return rows.evaluateAll((all) => all.map((row) => row.getAttribute('data-row')))
    }
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    const first = await shown(25)
    assert.ok(await button('Previous').isDisabled())
    await button('Next').click()
    await page.getByText('Page 2,').waitFor()
    await until('another page', async () => (await shown(25))[0] !== first[0])
    const second = await shown(25)
    await button('Next').click()
    const third = await shown(10)
    assert.ok(await button('Next').isDisabled())
    const expected = Array.from({ length: OPEN_MARKETS }, (_, index) => marketId(index))
    assert.deepEqual([...first, ...second, ...third], expected)
    await button('Previous').click()
    assert.deepEqual(await shown(25), second)
    await page.getByLabel('Length', { exact: true }).selectOption('15m')
    assert.deepEqual(
      await shown(20),
      expected.filter((_, index) => index % 3 === 0),
    )
    await page.getByText('Page 1,').waitFor()
    await page.getByLabel('Length', { exact: true }).selectOption('any length')
  })

  test('each market has the price of its own newest snapshot, however busy the others are', async () => {
    await page.goto('/#/explorer/markets')
    for (const { index, up } of [QUIET, BUSY]) {
      const row = page.locator(`tr[data-row="${marketId(index)}"]`)
      await row.locator('.up', { hasText: `${up * 100}%` }).waitFor()
      await row.locator('.down', { hasText: `${100 - up * 100}%` }).waitFor()
    }
    const ahead = page.locator(`tr[data-row="${marketId(8)}"]`)
    await ahead.getByText(/begins \d\d:\d\d|begins \d\d-\d\d/).waitFor()
    const calls = page.locator('.api-call')
    await calls.filter({ hasText: '/v1/markets?source=predmkt_a' }).getByText('25 credits').waitFor()
    await calls
      .filter({ hasText: '/v1/snapshots?source=predmkt_a' })
      .getByText(/\d+ credits/)
      .waitFor()
  })

  test('a price that the plan’s rows do not reach is not called absent', async () => {
    const { page: reader } = await chromium.open(service.url)
    await signUp(reader, 'few-rows@example.com')
    await reader.route('**/v1/snapshots?*', async (route) => {
      const response = await route.fetch()
      const { meta } = (await response.json()) as { meta: object }
      await route.fulfill({ response, json: { data: [], meta: { ...meta, next_cursor: 'more' } } })
    })
    await reader.goto('/#/explorer/markets')
    const row = reader.locator(`tr[data-row="${marketId(QUIET.index)}"]`)
    await row.getByText('not shown', { exact: true }).waitFor()
    await reader.getByText('Choose a length to see more of them.').waitFor()
    await reader.unroute('**/v1/snapshots?*')
    await row.locator('.up', { hasText: `${QUIET.up * 100}%` }).waitFor()
  })

  test('usage by day, endpoint and key, the rate-limit hits and the exported file agree', async () => {
    const { page: reader, context } = await chromium.open(service.url)
    await signUp(reader, 'narrow@example.com')
    const key = await createKey(reader, '=cmd, "quoted"')
    const account = (await service.parts.accounts.list()).find(({ email }) => email === 'narrow@example.com')
    assert.ok(account)
    await service.parts.accounts.setPlan(account.id, 'narrow')
    const ask = () => fetch(`${service.url}/v1/sources`, { headers: { 'X-API-Key': key } })
    const statuses: number[] = []
    await until('a refusal for the rate', async () => {
      for (const reply of await Promise.all(Array.from({ length: RATE * 3 }, ask)))
        statuses.push(reply.status)
      return statuses.includes(429)
    })
    const count = (status: number) => statuses.filter((one) => one === status).length
    await reader.goto('/#/usage')
    const usage = () =>
      reader.evaluate(() => fetch('/dashboard/api/usage').then((reply) => reply.json())) as Promise<UsageView>
    await until('the hits in the usage', async () => {
      const { rows } = await usage()
      return rows.reduce((sum, row) => sum + row.rate_limited, 0) === count(429)
    })
    await reader.reload()
    await reader
      .getByTestId('credits-used')
      .getByText(String(count(200) * 25), { exact: true })
      .waitFor()
    const limited = reader.locator('svg[aria-label="Rate-limit hits by day"]')
    assert.match(
      (await limited.locator('g title').last().textContent()) ?? '',
      new RegExp(`: ${count(429)}$`),
    )
    assert.ok(Number(await limited.locator('rect.tone-3').last().getAttribute('height')) > 50)
    const credits = reader.locator('svg[aria-label="Credits by day and endpoint"]')
    assert.ok(Number(await credits.locator('rect.tone-0').last().getAttribute('height')) > 50)
    await reader.locator('.legend', { hasText: 'GET /v1/sources' }).waitFor()
    await reader.getByText('key', { exact: true }).click()
    await reader.locator('svg[aria-label="Credits by day and key"]').waitFor()
    await reader.locator('.legend', { hasText: '=cmd, "quoted"' }).waitFor()

    const waiting = reader.waitForEvent('download')
    await reader.getByRole('link', { name: 'Export CSV' }).click()
    const file = await waiting
    assert.equal(file.suggestedFilename(), 'tapeline-usage.csv')
    const lines = readFileSync(await file.path(), 'utf8').split('\r\n')
    assert.equal(lines.pop(), '', 'the last line is ended too')
    const { rows } = await usage()
    assert.equal(lines[0], 'day,environment,endpoint,key_id,requests,credits,rows,failed,rate_limited')
    assert.deepEqual(
      lines.slice(1).sort(),
      rows
        .map((row) => {
          const { day, environment, endpoint, key_id: id, requests } = row
          return [
            ...[day, environment, endpoint, id, requests],
            ...[row.credits, row.rows, row.failed, row.rate_limited],
          ].join(',')
        })
        .sort(),
    )
    await context.close()
  })

  test('the heat strip has a part for each half hour, in the colour of what was observed of it', async () => {
    const part = (share: number | null, count: number) => new Array<number | null>(count).fill(share)
    const dataset: DatasetStatusView = {
      dataset: 'candles',
      interval: '1m',
      from: '2026-03-14T04:00:00.000Z',
      to: new Date().toISOString(),
      strip: [
        ...part(null, 8),
        ...part(1, 30),
        ...part(0.95, 1),
        ...part(0.6, 2),
        ...part(0.1, 3),
        ...part(1, 4),
      ],
    }
    const never = { from: null, to: null, strip: part(null, 48) }
    const source: SourceStatusView = {
      source: 'cexa',
      status: 'stale',
      last_event_at: new Date().toISOString(),
      lag_seconds: 4,
      rows_inserted: 1_234,
      gaps_24h: 2,
      backfill: 0.5,
      audit: { checked: 12, differences: 0 },
      notice: null,
      datasets: [dataset, { ...dataset, ...never, dataset: 'snapshots', interval: null }],
    }
    const status: StatusView = {
      environment: 'test',
      status: 'degraded',
      sources: [source],
      nodes: [],
      webhooks: { pending: 0, oldest_pending_seconds: 0 },
      notice: null,
    }
    await page.route('**/dashboard/api/status', (route) =>
      route.fulfill({ json: { environments: [status] } }),
    )
    await page.goto('/#/status')
    const strip = page.getByRole('img', {
      name: /^cexa candles 1m, the last 24 hours: gaps in 6 half hours$/,
    })
    await strip.waitFor()
    const tones = await strip.locator('i').evaluateAll((all) => all.map((one) => one.className))
    const expected = { none: 8, full: 34, most: 1, half: 2, little: 3 }
    assert.equal(tones.length, 48)
    for (const [tone, count] of Object.entries(expected)) {
      assert.equal(tones.filter((name) => name === `heat ${tone}`).length, count, tone)
    }
    const colors = (await page.evaluate(
      "[...document.querySelector('.strip').children].map((one) => getComputedStyle(one).backgroundColor)",
    )) as string[]
    assert.equal(new Set(colors).size, 5, 'five colours that differ')
    assert.match((await strip.locator('i').nth(38).getAttribute('title')) ?? '', /^5\.0 h ago: 95% observed$/)
    await page.getByRole('img', { name: /^cexa order books, .*: not recorded yet$/ }).waitFor()
    await page.unroute('**/dashboard/api/status')
  })
})
