/** Pictures of every view, light and dark, wide and narrow, into screenshots/ (git-ignored). */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { startReceiver } from '../fakes/receiver.ts'
import { dataFolder, spawnService } from '../fakes/service.ts'
import { becomeOperator, createKey, createWebhook, operatorToken, signUp } from './acts.ts'
import { openPage, skip, startBrowser } from './browser.ts'
import { EMPTY_VIEWS, HOLDER_VIEWS, OPERATOR_VIEWS, openView, type View } from './views.ts'

const OUT = join(import.meta.dirname, '..', '..', 'screenshots')
/** How long a view may take to settle, and how long the sandbox runs before the first picture. */
const SETTLE_MS = Number(process.argv[2] ?? 1_200)
const WARM_MS = Number(process.argv[3] ?? 45_000)

if (skip !== false) {
  process.stderr.write(`${skip}\n`)
  process.exit(0)
}
mkdirSync(OUT, { recursive: true })
const folder = dataFolder()
const receiver = await startReceiver((_received, response) => {
  const isBad = receiver.received.length % 7 === 3
  response.writeHead(isBad ? 503 : 200, { 'Content-Type': 'application/json' })
  response.end(isBad ? '{"error":"try again later"}' : '{"ok":true}')
})
const service = await spawnService(folder.path, {
  env: {
    TAPELINE_SANDBOX: 'on',
    TAPELINE_FIRST_FILL_DAYS: '31',
    TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on',
    TAPELINE_SIGN_UP_PLAN: 'developer',
  },
})
const browser = await startBrowser()
try {
  const { page, context } = await openPage(browser, service.url)
  await becomeOperator(page, await operatorToken(service))
  const key = await createKey(page, 'backtest on my laptop')
  await page.getByRole('button', { name: 'I have copied it' }).click()
  const second = await createKey(page, 'production recorder')
  await page.getByRole('button', { name: 'I have copied it' }).click()
  await createWebhook(page, receiver.url)
  const guest = await openPage(browser, service.url)
  await signUp(guest.page, 'trader@example.com')
  const guestCookies = await guest.context.cookies()
  await guest.context.close()
  await useKey(service.url, key)
  await new Promise((resolve) => setTimeout(resolve, WARM_MS))
  await useKey(service.url, key)
  await useKey(service.url, second)
  // More than the plan allows in a second: hits for the chart.
  await Promise.all(Array.from({ length: 200 }, () => fetch(`${service.url}/v1/sources?api-key=${second}`)))
  const cookies = await context.cookies()
  for (const dark of [false, true]) {
    for (const width of [1280, 360]) {
      const kind = `${dark ? 'dark' : 'light'}-${width}`
      const stranger = await openPage(browser, service.url, { dark, width })
      await stranger.page.goto('/')
      await stranger.page.getByRole('heading', { name: 'Sign in' }).waitFor()
      await shoot(stranger.page, `sign-in-${kind}`)
      await stranger.page.goto('/#/sign-up')
      await stranger.page.getByRole('heading', { name: 'Create your account' }).waitFor()
      await shoot(stranger.page, `sign-up-${kind}`)
      for (const name of ['plans', 'status']) {
        await stranger.page.goto(`/${name}`)
        await shoot(stranger.page, `${name}-page-${kind}`)
      }
      await stranger.context.close()
      await shootViews([...HOLDER_VIEWS, ...OPERATOR_VIEWS], cookies, { dark, width })
      await shootViews(EMPTY_VIEWS, guestCookies, { dark, width })
    }
  }
} finally {
  await browser.close()
  await service.kill('SIGTERM')
  await receiver.close()
  folder.remove()
}

type Cookies = Awaited<ReturnType<BrowserContext['cookies']>>

async function shootViews(
  views: readonly View[],
  cookies: Cookies,
  look: { dark: boolean; width: number },
): Promise<void> {
  const { page, context, faults } = await openPage(browser, service.url, look)
  await context.addCookies(cookies)
  for (const view of views) {
    await openView(page, view)
    await page.waitForTimeout(SETTLE_MS)
    await shoot(page, `${view.name}-${look.dark ? 'dark' : 'light'}-${look.width}`)
  }
  for (const fault of faults) process.stderr.write(`${fault}\n`)
  await context.close()
}

async function shoot(page: Page, name: string): Promise<void> {
  // A dialog lies over what is seen of the page, and not over the whole of it.
  const fullPage = (await page.locator('dialog').count()) === 0
  await page.screenshot({ path: join(OUT, `${name}.png`), fullPage })
  process.stdout.write(`${name}\n`)
}

async function useKey(url: string, key: string): Promise<void> {
  const paths = [
    'candles?symbol=BTC',
    'candles?symbol=ETH&limit=40',
    'sources',
    'funding?symbol=BTC',
    'trades?symbol=SOL&limit=100',
    'markets?source=predmkt_a',
    'nothing',
  ]
  for (const path of paths) {
    for (let i = 0; i < 4; i++) await fetch(`${url}/v1/${path}`, { headers: { 'X-API-Key': key } })
  }
}
