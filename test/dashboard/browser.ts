/** A real Chromium for tests, and the dashboard's API as a browser's session uses it. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

export const CHROMIUM = process.env.TAPELINE_CHROMIUM ?? '/usr/bin/chromium'
export const hasChromium = existsSync(CHROMIUM)
export const skip = hasChromium
  ? false
  : `no Chromium at ${CHROMIUM} (TAPELINE_CHROMIUM names another; Debian: apt-get install chromium)`

export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  })
}

export interface Watched {
  page: Page
  context: BrowserContext
  /** Console errors, page errors, CSP violations and requests to other hosts. */
  faults: string[]
}

/** A page of its own session that remembers everything it should not have done. */
export async function openPage(
  browser: Browser,
  url: string,
  options: { dark?: boolean; width?: number; height?: number; expected?: RegExp } = {},
): Promise<Watched> {
  const context = await browser.newContext({
    baseURL: url,
    colorScheme: options.dark ? 'dark' : 'light',
    viewport: { width: options.width ?? 1280, height: options.height ?? 860 },
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  const faults: string[] = []
  const note = (text: string) => {
    if (!options.expected?.test(text)) faults.push(text)
  }
  page.on('console', (message) => message.type() === 'error' && note(`console: ${message.text()}`))
  page.on('pageerror', (error) => note(`page: ${error.message}`))
  page.on('request', (request) => {
    const { host, protocol } = new URL(request.url())
    if (host !== new URL(url).host && protocol !== 'data:' && protocol !== 'blob:') {
      note(`request to ${request.url()}`)
    }
  })
  return { page, context, faults }
}

/** The one-time token that a service in a process of its own has printed. */
export async function operatorToken(service: { printed(): string }): Promise<string> {
  for (let tries = 0; tries < 200; tries++) {
    const token = /welcome\/(\S+)\s/.exec(service.printed())?.[1]
    if (token !== undefined) return token
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('no link for the operator was printed')
}

export async function signUp(page: Page, email: string, password = 'correct horse battery'): Promise<void> {
  await page.goto('/#/sign-up')
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign up' }).click()
  await page.getByRole('heading', { name: 'API keys' }).waitFor()
}

export async function becomeOperator(page: Page, token: string, email = 'op@example.com'): Promise<void> {
  await page.goto(`/#/welcome/${token}`)
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill('correct horse battery')
  await page.getByRole('button', { name: 'Create the operator' }).click()
  await page.getByRole('heading', { name: 'API keys' }).waitFor()
}

/** Creates a key through the form and returns its clear text. */
export async function createKey(page: Page, name: string): Promise<string> {
  await page.goto('/#/keys')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByLabel('Name', { exact: false }).first().fill(name)
  await page.locator('dialog').getByRole('button', { name: 'Create key' }).click()
  const shown = await page.getByTestId('new-key').textContent()
  assert.match(shown ?? '', /^svc_test_/)
  return shown ?? ''
}
