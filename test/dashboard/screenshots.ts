/** Pictures of every view, light and dark, wide and narrow, into screenshots/ (git-ignored). */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { dataFolder, spawnService } from '../fakes/service.ts'
import { becomeOperator, createKey, openPage, operatorToken, skip, startBrowser } from './browser.ts'

const OUT = join(import.meta.dirname, '..', '..', 'screenshots')
const VIEWS = [
  'explorer',
  'explorer/books',
  'explorer/markets',
  'explorer/events',
  'keys',
  'usage',
  'webhooks',
  'status',
  'operator',
  'account',
]
const SETTLE_MS = Number(process.argv[2] ?? 2_500)
const WARM_MS = Number(process.argv[3] ?? 60_000)

if (skip !== false) {
  process.stderr.write(`${skip}\n`)
  process.exit(0)
}
mkdirSync(OUT, { recursive: true })
const folder = dataFolder()
const service = await spawnService(folder.path, {
  env: { TAPELINE_SANDBOX: 'on', TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on' },
})
const token = await operatorToken(service)
const browser = await startBrowser()
try {
  const first = await openPage(browser, service.url)
  await first.page.goto('/')
  await shoot(first.page, 'sign-in')
  await becomeOperator(first.page, token)
  const key = await createKey(first.page, 'backtest on my laptop')
  await shoot(first.page, 'key-shown')
  await first.page.getByRole('button', { name: 'I have copied it' }).click()
  await useKey(service.url, key)
  await new Promise((resolve) => setTimeout(resolve, WARM_MS))
  await useKey(service.url, key)
  const cookies = await first.context.cookies()
  for (const dark of [false, true]) {
    for (const width of [1280, 360]) {
      const { page, context, faults } = await openPage(browser, service.url, { dark, width })
      await context.addCookies(cookies)
      for (const view of VIEWS) {
        await page.goto(`/#/${view}`)
        await page.waitForTimeout(SETTLE_MS)
        await shoot(page, `${view.replace('/', '-')}-${dark ? 'dark' : 'light'}-${width}`)
      }
      for (const fault of faults) process.stderr.write(`${fault}\n`)
      await context.close()
    }
  }
} finally {
  await browser.close()
  await service.kill('SIGTERM')
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
    'trades?symbol=SOL',
    'nothing',
  ]
  for (const path of paths) {
    for (let i = 0; i < 4; i++) await fetch(`${url}/v1/${path}`, { headers: { 'X-API-Key': key } })
  }
}
