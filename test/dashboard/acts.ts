/** What users do in the dashboard, step by step. */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { PASSWORD } from './session.ts'

/** The one-time token that a service in a process of its own has printed. */
export async function operatorToken(service: { printed(): string }): Promise<string> {
  for (let tries = 0; tries < 2_400; tries++) {
    const token = /welcome\/(\S+)\s/.exec(service.printed())?.[1]
    if (token !== undefined) return token
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('no link for the operator was printed')
}

async function enter(page: Page, path: string, email: string, button: string): Promise<void> {
  await page.goto(`/#/${path}`)
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: button }).click()
  await page.getByRole('heading', { name: 'API keys' }).waitFor()
}

export const signUp = (page: Page, email: string) => enter(page, 'sign-up', email, 'Sign up')

export const becomeOperator = (page: Page, token: string, email = 'op@example.com') =>
  enter(page, `welcome/${token}`, email, 'Create the operator')

/** Creates a webhook through the form and puts its secret away. */
export async function createWebhook(page: Page, url: string): Promise<void> {
  await page.goto('/#/webhooks')
  await page.getByRole('button', { name: 'Create webhook' }).click()
  await page.getByLabel('Receiver').fill(url)
  await page.getByRole('checkbox', { name: 'block_added' }).check()
  await page.locator('dialog').getByRole('button', { name: 'Create webhook' }).click()
  await page.locator('code', { hasText: 'whsec_' }).waitFor()
  await page.getByRole('button', { name: 'I have copied it' }).click()
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
