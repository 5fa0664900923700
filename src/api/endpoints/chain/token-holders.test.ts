import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../../test/fakes/manual-clock.ts'
import type { ListAnswer } from '../../../contract/endpoint.ts'
import type { AcceptedTransaction } from '../../../store/chain.ts'
import { block, hash, payment } from '../../../store/conformance/chain-engine.ts'
import { ENGINES } from '../../../store/conformance/engines.ts'
import { amountPlace, holderKey, type TokenFacts, tokenKey } from '../../../store/tokens.ts'
import { tokenHolders } from './token-holders.ts'

const TOKEN = 'AAAA'
const HOLDER = 'kaspatest:holder'

function entry(key: string, kind: 'token' | 'holder', place: string, value: object, token = TOKEN) {
  return { key, before: null, after: { token, kind, place, value: JSON.stringify(value) } }
}

/** What the endpoint answers for a token with one stored holder. */
async function holdersOf(history: TokenFacts['history'], token = TOKEN) {
  const facts = { form: 'krc20', history, operations: 3, holders: 1, firstSeenMs: 1, firstTxId: hash(7) }
  const changes = [
    entry(tokenKey(TOKEN), 'token', '', facts),
    entry(holderKey(TOKEN, HOLDER), 'holder', amountPlace(50n), { balance: '40', locked: '10', outputs: 0 }),
  ]
  return answerAbout(token, { ...payment(7, 1, 1n), tokens: changes }, 1)
}

/** What it answers after one transaction, with that many stored holders of `TOKEN`. */
async function answerAbout(token: string, transaction: AcceptedTransaction, stored = 0) {
  const [engine] = ENGINES
  assert.ok(engine)
  const place = engine.create()
  const stores = await place.open(manualClock(0)).chain('test')
  const { chain: index } = stores
  await index.write({ atMs: 0, expects: null, start: block(1) })
  await index.write({ atMs: 1, expects: hash(1), added: [{ ...block(2), transactions: [transaction] }] })
  try {
    assert.equal((await index.tokenHolders({ token: TOKEN, limit: 10 })).holders.length, stored)
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

test('of a covenant with thousands of outputs it is said whether any of them is hidden, as far as they are counted', async () => {
  const token = hash(9)
  const outputs = Array.from({ length: 2_500 }, (_, index) => ({
    ...{ index, amount: 5n, scriptPublicKey: '0000aa', address: null },
  }))
  const hiddenReason = async (proven: number) => {
    const facts: TokenFacts = {
      ...{
        form: 'kcc20',
        history: 'revealed',
        operations: 1,
        holders: 0,
        firstSeenMs: 1,
        firstTxId: hash(7),
      },
      proven: { amount: '1', outputs: proven },
    }
    const answer = await answerAbout(token, {
      ...payment(7, 1, 1n),
      covenants: [{ covenantId: token, text: '{}', spent: [], created: outputs }],
      tokens: [entry(tokenKey(token), 'token', '', facts, token)],
    })
    return answer.hidden_reason
  }
  assert.equal(await hiddenReason(2_500), null)
  assert.equal(await hiddenReason(2_499), 'hidden_until_spent')
  assert.equal(await hiddenReason(0), 'hidden_until_spent')
  assert.equal(await hiddenReason(10_001), null)
})
