/** How long a first load takes until the explorer shows candles. */
import { availableParallelism, loadavg } from 'node:os'
import type { BrowserContext } from 'playwright-core'
import type { Chromium } from './browser.ts'

const LOADS = 3
const QUIET_WITHIN_MS = 15_000

type Cookies = Awaited<ReturnType<BrowserContext['cookies']>>

/** The median of some loads, each with nothing cached. */
export async function firstChartMs(chromium: Chromium, url: string, cookies: Cookies): Promise<number> {
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
export async function isOverloaded(): Promise<boolean> {
  const tasks = () => loadavg()[0] ?? 0
  if (tasks() <= availableParallelism()) return false
  const endMs = performance.now() + QUIET_WITHIN_MS
  while (tasks() > availableParallelism() && performance.now() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  }
  return true
}
