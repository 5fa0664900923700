/** How long a first load takes until the explorer shows candles. Runs alone. */
import assert from 'node:assert/strict'
import { availableParallelism, loadavg } from 'node:os'
import { after, before, describe, test } from 'node:test'
import type { BrowserContext } from 'playwright-core'
import { startTestService, type TestService } from '../fakes/service.ts'
import { storesIn } from '../fakes/stores.ts'
import { signUp } from './acts.ts'
import { type Chromium, skip, useChromium } from './browser.ts'
import { fillCharts } from './known-data.ts'

/** The long form enforces 1.5 s. A machine shared with others may take several times as long. */
const FIRST_CHART_MS = process.env.TAPELINE_SOAK === undefined ? 6_000 : 1_500
const LOADS = 3
const QUIET_WITHIN_MS = 15_000

type Cookies = Awaited<ReturnType<BrowserContext['cookies']>>

describe('the first load', { skip }, () => {
  const chromium = useChromium()
  let service: TestService
  let cookies: Cookies

  before(async () => {
    service = await startTestService({ env: { TAPELINE_SIGN_UP_PLAN: 'wide' } })
    const store = await storesIn(service.folder).environment('test')
    await fillCharts(store, Date.now())
    await store.close()
    const { page, context } = await chromium.open(service.url)
    await signUp(page, 'first@example.com')
    cookies = await context.cookies()
    await context.close()
  })
  after(() => service?.stop())

  test(`the first chart of the explorer is there within ${FIRST_CHART_MS} ms (median of ${LOADS} first loads)`, async (t) => {
    let elapsedMs = await firstChartMs(chromium, service.url, cookies)
    if (elapsedMs > FIRST_CHART_MS && (await isOverloaded())) {
      t.diagnostic(`first chart after ${Math.round(elapsedMs)} ms on a busy machine: once more`)
      elapsedMs = await firstChartMs(chromium, service.url, cookies)
    }
    t.diagnostic(`first chart after ${Math.round(elapsedMs)} ms`)
    assert.ok(elapsedMs <= FIRST_CHART_MS, `first chart after ${Math.round(elapsedMs)} ms`)
  })
})

/** The median of some loads, each with nothing cached. */
async function firstChartMs(chromium: Chromium, url: string, cookies: Cookies): Promise<number> {
  const times: number[] = []
  for (let load = 0; load < LOADS; load++) {
    const { page, context } = await chromium.open(url)
    await context.addCookies(cookies)
    const startedMs = performance.now()
    await page.goto('/', { waitUntil: 'commit' })
    await page.locator('.chart[data-candles]:not([data-candles="0"]) canvas').first().waitFor()
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    times.push(performance.now() - startedMs)
    await context.close()
  }
  return times.sort((a, b) => a - b)[Math.floor(LOADS / 2)] ?? Number.POSITIVE_INFINITY
}

/** Whether others use the machine so much that a time says little; waits a while for them. */
async function isOverloaded(): Promise<boolean> {
  const tasks = () => loadavg()[0] ?? 0
  if (tasks() <= availableParallelism()) return false
  const endMs = performance.now() + QUIET_WITHIN_MS
  while (tasks() > availableParallelism() && performance.now() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  }
  return true
}
