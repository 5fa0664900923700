import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askParts, canAnswer } from './ask-parts.ts'
import type { ReadinessProbe } from './parts.ts'

const well = async () => {}
const fails = (why: string) => () => Promise.reject(new Error(why))

test('a venue that is stale makes the service not ready, and it still answers; without a store it does not', async () => {
  const accounts: ReadinessProbe = { name: 'accounts', isStore: true, check: well }
  const recorders: ReadinessProbe = { name: 'live recorders', check: fails('cexa is stale') }
  assert.deepEqual(await askParts([accounts, recorders]), {
    ready: false,
    parts: [
      { name: 'accounts', ok: true },
      { name: 'live recorders', ok: false, detail: 'cexa is stale' },
    ],
  })
  assert.equal(await canAnswer([accounts, recorders]), true)
  const away: ReadinessProbe = { name: 'live store', isStore: true, check: fails('it is away') }
  assert.equal(await canAnswer([accounts, away]), false)
})
