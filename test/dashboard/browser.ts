/** A real Chromium for tests. Anything that a page must not do fails the test that opened it. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, afterEach, before } from 'node:test'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { share, stopSharedAfterFile } from '../fakes/shared.ts'

const CHROMIUM = process.env.TAPELINE_CHROMIUM ?? '/usr/bin/chromium'
export const skip = existsSync(CHROMIUM)
  ? false
  : `no Chromium at ${CHROMIUM} (TAPELINE_CHROMIUM names another; Debian: apt-get install chromium)`

export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      ...['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
      // All pages are of one service: one process for them costs less than one for each.
      ...['--renderer-process-limit=1', '--disable-site-isolation-trials'],
    ],
  })
}

export interface PageOptions {
  dark?: boolean
  width?: number
  height?: number
}

export interface Watched {
  page: Page
  context: BrowserContext
  /** Console errors and warnings, page errors, policy violations, requests to other hosts. */
  faults: string[]
}

/** Ends a step that hangs; how long a step takes is not measured. */
const STEP_LIMIT_MS = 60_000

/** A page of its own session that remembers everything it should not have done. */
export async function openPage(
  browser: Browser,
  url: string,
  options: PageOptions = {},
  faults: string[] = [],
): Promise<Watched> {
  const context = await browser.newContext({
    baseURL: url,
    colorScheme: options.dark ? 'dark' : 'light',
    viewport: { width: options.width ?? 1280, height: options.height ?? 860 },
    permissions: ['clipboard-read', 'clipboard-write'],
    reducedMotion: 'reduce',
  })
  const { host } = new URL(url)
  const visit = (address: string) => {
    const target = new URL(address)
    const isOurs = target.host === host || target.protocol === 'data:' || target.protocol === 'blob:'
    if (!isOurs) faults.push(`request to ${address}`)
  }
  context.on('page', (page) => {
    page.setDefaultTimeout(STEP_LIMIT_MS)
    page.on('console', (message) => {
      if (message.type() !== 'error' && message.type() !== 'warning') return
      faults.push(`console ${message.type()}: ${message.text()} (${message.location().url})`)
    })
    page.on('pageerror', (error) => faults.push(`page: ${error.message}`))
    page.on('websocket', (socket) => visit(socket.url()))
  })
  context.on('request', (request) => visit(request.url()))
  return { page: await context.newPage(), context, faults }
}

export interface Chromium {
  /** Of all pages since the last test; a test that expects one takes it out. */
  readonly faults: string[]
  open(url: string, options?: PageOptions): Promise<Watched>
}

const sharedBrowser = share(async () => {
  const value = await startBrowser()
  return { value, stop: () => value.close() }
})

/** For a file that opens pages itself: to be called where its tests are declared. */
export function useBrowser(): () => Promise<Browser> {
  stopSharedAfterFile()
  return sharedBrowser
}

/** One browser for all files of a process. No page may have a fault after a test; pages are closed after their file. */
export function useChromium(): Chromium {
  let browser: Browser | undefined
  const contexts: BrowserContext[] = []
  const faults: string[] = []
  before(async () => {
    browser = await sharedBrowser()
  })
  afterEach(() => assert.deepEqual(faults.splice(0), []))
  after(async () => {
    for (const context of contexts) await context.close()
  })
  stopSharedAfterFile()
  return {
    faults,
    async open(url, options) {
      assert.ok(browser)
      const watched = await openPage(browser, url, options, faults)
      contexts.push(watched.context)
      return watched
    },
  }
}
