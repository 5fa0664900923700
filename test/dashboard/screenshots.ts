/** Pictures of every view, light and dark, wide and narrow, into screenshots/ (git-ignored). */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { startReceiver } from '../fakes/receiver.ts'
import { dataFolder, spawnService } from '../fakes/service.ts'
import { becomeOperator, createKey, createWebhook, operatorToken, signUp } from './acts.ts'
import { openPage, skip, startBrowser } from './browser.ts'
import { HOLDER_VIEWS, OPERATOR_VIEWS, openView } from './views.ts'

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
  await guest.context.close()
  await useKey(service.url, key)
  await new Promise((resolve) => setTimeout(resolve, WARM_MS))
  await useKey(service.url, key)
  await useKey(service.url, second)
  const cookies = await context.cookies()
  for (const dark of [false, true]) {
    for (const width of [1280, 360]) {
      const kind = `${dark ? 'dark' : 'light'}-${width}`
      const stranger = await openPage(browser, service.url, { dark, width })
      await stranger.page.goto('/')
      await stranger.page.getByRole('heading', { name: 'Sign in' }).waitFor()
      await shoot(stranger.page, `sign-in-${kind}`)
      await stranger.context.close()
      const opened = await openPage(browser, service.url, { dark, width })
      await opened.context.addCookies(cookies)
      for (const view of [...HOLDER_VIEWS, ...OPERATOR_VIEWS]) {
        await openView(opened.page, view)
        await opened.page.waitForTimeout(SETTLE_MS)
        await shoot(opened.page, `${view.name}-${kind}`)
      }
      for (const fault of opened.faults) process.stderr.write(`${fault}\n`)
      await opened.context.close()
    }
  }
} finally {
  await browser.close()
  await service.kill('SIGTERM')
  await receiver.close()
  folder.remove()
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(OUT, `${name}.png`), fullPage: true })
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
