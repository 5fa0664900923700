/** The API reference: it opens soon, and every operation can be read, copied as a program and sent. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openapiDocument } from '../../src/api/publish/openapi.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { CHANGED_ENDPOINTS } from '../clients/changed-endpoints.ts'
import { ask } from '../fakes/client.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { storesIn } from '../fakes/stores.ts'
import { until } from '../until.ts'
import { signUp } from './acts.ts'
import { skip, useChromium } from './browser.ts'
import { fillCharts } from './known-data.ts'

const MAX_PAGE_BYTES = 400_000

describe('the API reference', { skip }, () => {
  const chromium = useChromium()
  let service: TestService
  let store: EnvironmentStore
  let page: Page
  let key: string

  before(async () => {
    service = await startTestService({ env: { TAPELINE_SIGN_UP_PLAN: 'wide' } })
    store = await storesIn(service.folder).environment('test')
    await fillCharts(store, Date.now())
    key = await service.key({ plan: 'business' })
    page = (await chromium.open(service.url, { dark: true })).page
  })
  after(async () => {
    await store?.close()
    await service?.stop()
  })

  const operation = (id: string) => page.locator(`details.operation#${id}`)

  test('it is small, and shows all operations in the colours of the system', async (t) => {
    await page.goto('/docs')
    await operation('getV1Candles').waitFor()
    const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as { paths: object }
    const operations = Object.values(document.paths).flatMap((methods) => Object.keys(methods))
    assert.equal(await page.locator('details.operation').count(), operations.length)
    const background = await page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
    assert.equal(background, 'rgb(12, 18, 19)')
    const loaded = (await page.evaluate(
      "performance.getEntriesByType('resource').map(({ name, decodedBodySize }) => [name, decodedBodySize])",
    )) as [name: string, bytes: number][]
    const bytes = loaded.reduce((sum, [, size]) => sum + size, 0)
    assert.ok(bytes > 200_000 && bytes < MAX_PAGE_BYTES, JSON.stringify(loaded))
    const openedMs = Number(await page.evaluate("performance.getEntriesByName('shown')[0].startTime"))
    t.diagnostic(`shown after ${Math.round(openedMs)} ms`)
    const links = await page
      .locator('.docs-top a')
      .evaluateAll((all) => all.map((a) => a.getAttribute('href')))
    assert.deepEqual(links, ['/', '/guide', '/docs', '/'])
  })

  test('an operation shows its price before it is sent, its program in each language, and its answer', async () => {
    await page.getByLabel('API key').fill(key)
    const candles = operation('getV1Candles')
    await candles.locator('summary').first().click()
    await candles.getByLabel('source', { exact: true }).selectOption('cexa_futures')
    await candles.getByLabel('interval', { exact: true }).selectOption('15m')
    await candles.getByLabel('limit', { exact: true }).fill('3')
    await candles.getByText('59 credits for 3 rows').waitFor()
    for (const [name, words] of [
      ['curl', "'/v1/candles?symbol=BTC&interval=15m&source=cexa_futures&limit=3'"],
      ['TypeScript', 'client.candles({ symbol: "BTC", interval: "15m", source: "cexa_futures", limit: 3 })'],
      ['Python', 'tl.candles(symbol="BTC", interval="15m", source="cexa_futures", limit=3)'],
    ] as const) {
      await candles.getByRole('tab', { name }).click()
      const code = await candles.locator('pre.code').first().innerText()
      assert.ok(code.replace(service.url, '').includes(words), code)
    }
    await candles.getByRole('button', { name: 'Send' }).click()
    await candles.locator('.answer b').getByText('200', { exact: true }).waitFor()
    assert.match(await candles.locator('.answer').innerText(), /59 credits[\s\S]*"source": ?"cexa_futures"/)
  })

  test('a body is sent as it stands, and one that is no JSON is not', async () => {
    const replay = operation('postRpc')
    await replay.locator('summary').first().click()
    const body = replay.locator('textarea')
    assert.match(await body.inputValue(), /getSinkBlueScore/)
    await body.fill('{')
    await replay.locator('.problem').getByText('The body is not JSON.').waitFor()
    assert.ok(await replay.getByRole('button', { name: 'Send' }).isDisabled())
    const typed = '{"method": "getBlock", "params": {"nonce": 13546744073709551615}}'
    await page.route('**/rpc', (route) => route.fulfill({ json: {} }))
    await body.fill(typed)
    const [sent] = await Promise.all([
      page.waitForRequest('**/rpc'),
      replay.getByRole('button', { name: 'Send' }).click(),
    ])
    assert.equal(sent.postData(), typed)
    await page.unroute('**/rpc')
  })

  test('who is signed in needs no key', async () => {
    const { page: own } = await chromium.open(service.url)
    await signUp(own, 'reference@example.com')
    await own.goto('/docs#getV1Limits')
    await own.getByText('requests are sent as reference@example.com').waitFor()
    const limits = own.locator('details.operation#getV1Limits')
    await limits.getByRole('button', { name: 'Send' }).click()
    await limits.locator('.answer b').getByText('200', { exact: true }).waitFor()
    assert.match(await limits.locator('.answer').innerText(), /"plan": ?"wide"/)
  })

  test('the explorer gives its call as a program and its rows as files', async () => {
    const { page: own } = await chromium.open(service.url)
    await signUp(own, 'files@example.com')
    await own.goto('/#/explorer')
    const call = own.locator('.api-call', { hasText: '/v1/candles' }).first()
    await call.waitFor()
    await call.getByRole('button', { name: 'Copy Python' }).click()
    const copied = String(await own.evaluate('navigator.clipboard.readText()'))
    assert.match(copied, /tl\.candles\(symbol="BTC", source="cexa_futures", interval="15m", limit=500\)/)
    const [saved] = await Promise.all([
      own.waitForEvent('download'),
      call.getByRole('button', { name: 'CSV', exact: true }).click(),
    ])
    assert.match(saved.suggestedFilename(), /^candles_symbol=BTC.*\.csv$/)
    const text = readFileSync(await saved.path(), 'utf8')
    assert.match(text, /^timestamp,symbol,source,/)
    assert.ok(text.trim().split('\n').length > 10)
  })

  test('the id that was listed is filled in below it', async () => {
    const body = JSON.stringify({ url: 'https://1.1.1.1/hook', kinds: ['block_added'] })
    const headers = { 'Content-Type': 'application/json' }
    const created = await ask(`${service.url}/v1/webhooks`, { method: 'POST', key, headers, body })
    assert.equal(created.status, 201, created.text)
    const list = operation('getV1Webhooks')
    await list.locator('summary').first().click()
    await list.getByRole('button', { name: 'Send' }).click()
    await list.locator('.answer b').getByText('200', { exact: true }).waitFor()
    const one = operation('getV1WebhooksId')
    await one.locator('summary').first().click()
    assert.equal(await one.getByLabel('id', { exact: true }).inputValue(), created.json.id)
    await one.getByRole('button', { name: 'Send' }).click()
    await one.locator('.answer b').getByText('200', { exact: true }).waitFor()
  })

  test('a new endpoint, parameter and field are shown without a line written for them', async () => {
    const { page: own } = await chromium.open(service.url)
    await own.route('**/openapi.json', (route) => route.fulfill({ json: openapiDocument(CHANGED_ENDPOINTS) }))
    await own.goto('/docs#getV1MarketSentiment')
    const added = own.locator('details.operation#getV1MarketSentiment')
    assert.match(await added.innerText(), /Fear and greed[\s\S]*Which word\.[\s\S]*credits: 1 flat/)
    await added.getByRole('tab', { name: 'Python' }).click()
    assert.match(await added.locator('pre.code').first().innerText(), /tl\.market_sentiment\(/)
    await own.goto('/docs#getV1Funding')
    const changed = own.locator('details.operation#getV1Funding')
    await changed.getByLabel('min_rate', { exact: true }).waitFor()
    await changed.getByText('fields', { exact: true }).first().click()
    await changed.getByText('The next rate.').waitFor()
  })

  test('the search finds operations by their words', async () => {
    await page.getByLabel('Search operations').fill('funding perpdex')
    await until('fewer operations', async () => (await page.locator('details.operation').count()) < 5)
    assert.ok(await operation('getV1PerpdexFunding').isVisible())
  })
})
