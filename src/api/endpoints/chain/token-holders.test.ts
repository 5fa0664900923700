import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../../test/fakes/manual-clock.ts'
import type { ListAnswer } from '../../../contract/endpoint.ts'
import { block, hash, payment } from '../../../store/conformance/chain-engine.ts'
import { ENGINES } from '../../../store/conformance/engines.ts'
import { amountPlace, holderKey, type TokenFacts, tokenKey } from '../../../store/tokens.ts'
import { tokenHolders } from './token-holders.ts'

const TOKEN = 'AAAA'
const HOLDER = 'kaspatest:holder'

function entry(key: string, kind: 'token' | 'holder', place: string, value: object) {
  return { key, before: null, after: { token: TOKEN, kind, place, value: JSON.stringify(value) } }
}

/** What the endpoint answers for a token with one stored holder. */
async function holdersOf(history: TokenFacts['history'], token = TOKEN) {
  const [engine] = ENGINES
  assert.ok(engine)
  const place = engine.create()
  const stores = await place.open(manualClock(0)).chain('test')
  const { chain: index } = stores
  const facts = { form: 'krc20', history, operations: 3, holders: 1, firstSeenMs: 1, firstTxId: hash(7) }
  const changes = [
    entry(tokenKey(TOKEN), 'token', '', facts),
    entry(holderKey(TOKEN, HOLDER), 'holder', amountPlace(50n), { balance: '40', locked: '10', outputs: 0 }),
  ]
  await index.write({ atMs: 0, expects: null, start: block(1) })
  const transactions = [{ ...payment(7, 1, 1n), tokens: changes }]
  await index.write({ atMs: 1, expects: hash(1), added: [{ ...block(2), transactions }] })
  try {
    assert.equal((await index.tokenHolders({ token: TOKEN, limit: 10 })).holders.length, 1)
    const request = { input: { token }, services: { chain: { index } }, rowLimit: 10, dryRun: false }
    const { wrap, rows } = (await tokenHolders.run(request as never)) as ListAnswer
    assert.ok(wrap)
    return JSON.parse(wrap.head + rows + wrap.tail) as Record<string, unknown>
  } finally {
    await stores.close()
    await place.remove()
  }
}

test('holders of a known token are listed with what is locked', async () => {
  const { items, hidden_reason, credits_used } = await holdersOf('since_deploy')
  assert.deepEqual(items, [{ holder: HOLDER, amount: '50', locked: '10', outputs: 0 }])
  assert.deepEqual([hidden_reason, credits_used], [null, 11])
})

test('of a token that can no longer be judged nobody is listed, whatever is stored, and the reason is said', async () => {
  const { items, hidden_reason, next_cursor, credits_used } = await holdersOf('unknown')
  assert.deepEqual([items, hidden_reason, next_cursor, credits_used], [[], 'older_than_index', null, 10])
})

test('a token that was never seen is not found', async () => {
  await assert.rejects(holdersOf('since_deploy', 'BBBB'), { kind: 'not_found' })
})
