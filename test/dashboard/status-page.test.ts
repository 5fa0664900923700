/**
 * What a fresh install says of itself: one service whose test environment has nothing to record, and whose live
 * environment has a venue that has never answered.
 */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { observed } from '../../src/store/coverage.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { ask } from '../fakes/client.ts'
import { makeKey } from '../fakes/keys.ts'
import { dataFolder, spawnService, startTestService, type TestService } from '../fakes/service.ts'
import { storesIn } from '../fakes/stores.ts'
import { until } from '../until.ts'
import { signUp } from './acts.ts'
import { skip, useChromium } from './browser.ts'

/** Nobody listens there. */
const DEAD = '127.0.0.1:9'
const HOUR_MS = 3_600_000
const SETTINGS = ['TAPELINE_SANDBOX', 'TAPELINE_LIVE', 'TAPELINE_NODES']

interface Status {
  status: string
  notice: string | null
  ingestion: {
    source: string
    status: string
    coverage: { dataset: string; interval: string | null; from: string | null; to: string | null }[]
  }[]
}

describe('the status of a fresh install', { skip }, () => {
  const chromium = useChromium()
  let service: TestService
  let store: EnvironmentStore
  let page: Page

  before(async () => {
    service = await startTestService({
      env: {
        TAPELINE_LOG_LEVEL: 'silent',
        TAPELINE_SIGN_UP_PLAN: 'wide',
        TAPELINE_LIVE: 'perpdex',
        TAPELINE_VENUE_HOSTS: `hyperliquid.rest=http://${DEAD},hyperliquid.stream=ws://${DEAD}`,
      },
    })
    store = await storesIn(service.folder).environment('live')
    page = (await chromium.open(service.url)).page
    await signUp(page, 'status@example.com')
  })
  after(async () => {
    await store?.close()
    await service?.stop()
  })

  const statusOf = async (environment: 'test' | 'live'): Promise<Status> => {
    const key = await makeKey(service.parts.accounts, { environment })
    return (await ask(`${service.url}/v1/status`, { key })).json as unknown as Status
  }
  const badColors = () =>
    page.evaluate(
      "[...document.querySelectorAll('main .badge, main .heat')].filter((one) => /(^| )(bad|warn|little|half|most)( |$)/.test(one.className) && !one.closest('.legend')).length",
    )

  test('what was never recorded is grey and labelled, in the page and in /v1/status', async () => {
    await page.goto('/#/explorer?environment=live')
    // The page has read its address.
    await page.locator('[aria-label="Environment"] label.on', { hasText: 'live' }).waitFor()
    await page.goto('/#/status')
    const perpdex = page.getByRole('region', { name: 'perpdex' })
    await until('the recorder has tried', async () => (await statusOf('live')).ingestion.length > 0)
    await perpdex.locator('.badge').getByText('not recorded yet', { exact: true }).waitFor()
    for (const dataset of ['candles 1s', 'candles 1m', 'order books', 'trades']) {
      const line = perpdex.locator(`[data-dataset="${dataset}"]`)
      await line.getByText('not recorded yet', { exact: true }).waitFor()
    }
    assert.equal(await badColors(), 0, 'nothing is red or yellow')
    const { ingestion } = await statusOf('live')
    const covered = ingestion[0]?.coverage ?? []
    assert.ok(covered.length >= 4, JSON.stringify(ingestion))
    assert.deepEqual([...new Set(covered.flatMap(({ from, to }) => [from, to]))], [null])
  })

  test('each dataset has its own coverage: history of candles does not count for order books', async () => {
    const nowMs = Math.floor(Date.now() / 60_000) * 60_000
    const [since, recently] = [nowMs - 26 * HOUR_MS, nowMs - HOUR_MS]
    const feed = { source: 'perpdex', symbol: 'BTC' } as const
    const line = (dataset: string) => page.locator(`[data-dataset="${dataset}"]`)
    const shown = (timeMs: number) => new Date(timeMs).toISOString().slice(0, 16).replace('T', ' ')
    const tones = (dataset: string) =>
      line(dataset)
        .locator('.strip i')
        .evaluateAll((all) => all.map((one) => one.className))
    // A recorder that has just started retracts recent coverage, so this is written until it stays.
    await until('the coverage of both', async () => {
      await store.write({
        coverage: [observed({ ...feed, dataset: 'candles', interval: '1m' }, since, nowMs)],
      })
      await store.write({
        coverage: [observed({ ...feed, dataset: 'snapshots', interval: '' }, recently, nowMs)],
      })
      const [candles, books] = [await line('candles 1m').innerText(), await line('order books').innerText()]
      return (
        candles.includes(`since ${shown(since)} · no gaps`) &&
        books.includes(`since ${shown(recently)} · no gaps`)
      )
    })
    assert.deepEqual(new Set(await tones('candles 1m')), new Set(['heat full']))
    const books = await tones('order books')
    assert.deepEqual(
      [books.filter((tone) => tone === 'heat none').length >= 45, books.at(-1)],
      [true, 'heat full'],
    )
    await line('trades').getByText('not recorded yet', { exact: true }).waitFor()
    const { ingestion } = await statusOf('live')
    const found = (dataset: string, interval: string | null) =>
      ingestion[0]?.coverage.find((one) => one.dataset === dataset && one.interval === interval)
    assert.equal(found('candles', '1m')?.from, new Date(since).toISOString())
    assert.equal(found('snapshots', null)?.from, new Date(recently).toISOString())
    assert.equal(found('snapshots', null)?.to, new Date(nowMs).toISOString())
    assert.equal(found('trades', null)?.from, null)
  })

  test('with nothing to record the status page, the explorer and /v1/status say so and what to set', async () => {
    await page.goto('/#/explorer?environment=test')
    const note = page.getByTestId('idle-market')
    // The page has read its address.
    await note.waitFor()
    for (const place of ['explorer/candles', 'explorer/books', 'explorer/markets', 'status']) {
      await page.goto(`/#/${place}`)
      const text = (await note.textContent()) ?? ''
      assert.match(text, /^No venue is recorded in the test environment/)
      for (const name of ['TAPELINE_SANDBOX', 'TAPELINE_LIVE'])
        assert.ok(text.includes(name), `${place}: ${text}`)
    }
    await page.locator('.badge').getByText('nothing is recorded', { exact: true }).waitFor()
    assert.equal(await badColors(), 0)
    await page.goto('/#/explorer/events')
    assert.match((await page.getByTestId('idle-chain').textContent()) ?? '', /TAPELINE_NODES/)
    const { status, notice } = await statusOf('test')
    assert.equal(status, 'ok')
    for (const name of SETTINGS) assert.ok(notice?.includes(name), `${notice}`)
    const live = await statusOf('live')
    assert.ok(
      live.notice?.includes('TAPELINE_NODES') && !live.notice.includes('TAPELINE_LIVE'),
      `${live.notice}`,
    )
    // A book that nobody has is answered 501 and 404.
    chromium.faults.splice(
      0,
      chromium.faults.length,
      ...chromium.faults.filter((text) => !/ (501|404) /.test(text)),
    )
  })
})

test('a start with nothing to record prints what to set; one with something does not', async () => {
  const folder = dataFolder()
  for (const [env, isIdle] of [
    [{}, true],
    [{ TAPELINE_NODES: `ws://${DEAD}` }, false],
  ] as const) {
    const service = await spawnService(folder.path, { env })
    await until('the whole start', () => service.printed().includes('Dashboard: '))
    await service.kill('SIGTERM')
    const notice = /Nothing is recorded: .*/.exec(service.printed())?.[0]
    assert.equal(notice !== undefined, isIdle, service.printed())
    if (isIdle) for (const name of SETTINGS) assert.ok(notice?.includes(name), service.printed())
  }
  folder.remove()
})
