/** Every view of the dashboard, dialogs included, and how a person gets there. */
import type { Page } from 'playwright-core'

export interface View {
  readonly name: string
  readonly path: string
  /** What is done after the page is there. */
  readonly act?: (page: Page) => Promise<void>
}

const click = (name: string) => (page: Page) =>
  page.getByRole('button', { name, exact: true }).first().click()

const choose = (label: string, value: string) => async (page: Page) => {
  await page.getByLabel(label, { exact: true }).selectOption(value)
}

const inOpenWebhook = (name: string) => async (page: Page) => {
  await click('Open')(page)
  await click(name)(page)
}

export const HOLDER_VIEWS: readonly View[] = [
  { name: 'explorer', path: 'explorer' },
  { name: 'explorer-prediction', path: 'explorer/candles', act: choose('Source', 'predmkt_a') },
  { name: 'explorer-books', path: 'explorer/books' },
  { name: 'explorer-books-prediction', path: 'explorer/books', act: choose('Source', 'predmkt_b') },
  { name: 'explorer-markets', path: 'explorer/markets' },
  { name: 'explorer-events', path: 'explorer/events' },
  { name: 'keys', path: 'keys' },
  { name: 'key-create', path: 'keys', act: click('Create key') },
  { name: 'key-rotate', path: 'keys', act: click('Rotate') },
  { name: 'key-revoke', path: 'keys', act: click('Revoke') },
  { name: 'usage', path: 'usage' },
  { name: 'webhooks', path: 'webhooks' },
  { name: 'webhook-create', path: 'webhooks', act: click('Create webhook') },
  { name: 'webhook-open', path: 'webhooks', act: click('Open') },
  { name: 'webhook-edit', path: 'webhooks', act: inOpenWebhook('Edit') },
  { name: 'webhook-replay', path: 'webhooks', act: inOpenWebhook('Replay') },
  { name: 'webhook-rotate', path: 'webhooks', act: inOpenWebhook('Rotate secret') },
  {
    name: 'webhook-delivery',
    path: 'webhooks',
    act: async (page) => {
      await click('Open')(page)
      await page
        .getByRole('row', { name: /delivered/ })
        .getByRole('button', { name: 'Show' })
        .first()
        .click()
      await page.getByTestId('request-body').waitFor()
    },
  },
  { name: 'status', path: 'status' },
  { name: 'account', path: 'account' },
]

/** Those of somebody who has just signed up. */
export const EMPTY_VIEWS: readonly View[] = [
  { name: 'keys-empty', path: 'keys' },
  { name: 'usage-empty', path: 'usage' },
  { name: 'webhooks-empty', path: 'webhooks' },
]

export const OPERATOR_VIEWS: readonly View[] = [
  { name: 'operator', path: 'operator' },
  { name: 'operator-account', path: 'operator', act: click('Manage') },
  { name: 'operator-new-account', path: 'operator', act: click('New account') },
  { name: 'operator-new-notice', path: 'operator', act: click('New notice') },
]

/** Goes there from another view, so that what the last one left open is gone. */
export async function openView(page: Page, view: View): Promise<void> {
  await page.goto('/#/account')
  await page.getByRole('heading', { name: 'Account', exact: true }).waitFor()
  await page.goto(`/#/${view.path}`)
  await page.locator('main h1').waitFor()
  await view.act?.(page)
}
