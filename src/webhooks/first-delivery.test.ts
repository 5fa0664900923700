import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { startRig } from '../../test/fakes/webhook-rig.ts'

const { cache } = createRequire(import.meta.url)
const isLoaded = () => Object.keys(cache).some((path) => path.includes('/undici/'))

test('the HTTP client is loaded at the start of a process that has webhooks to deliver to, and of no other', async (t) => {
  const first = await startRig()
  const asked = { url: 'https://127.0.0.1/', kinds: ['block_added'], addresses: [], batch: false }
  await first.webhooks.subscriptions.create(await first.createOwner(), asked)
  await first.close({ keepFiles: true })
  assert.equal(isLoaded(), false)
  const other = await startRig({ folder: first.folder, webhooks: { delivers: false } })
  await other.close({ keepFiles: true })
  assert.equal(isLoaded(), false)
  const second = await startRig({ folder: first.folder })
  t.after(() => second.close())
  assert.equal(isLoaded(), true)
})
