import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { longIntegersAsText } from './long-integers.ts'

const Amount = Type.Union([Type.Integer(), Type.String()])

/** Fails the test when it is read. */
const UNREAD = {
  get amount() {
    return assert.fail('read')
  },
}

test('a list is read only if it is not too long and something in it takes a number or text', () => {
  const Cells = Type.Array(Type.Object({ amount: Amount }), { maxItems: 2 })
  assert.deepEqual(longIntegersAsText(Cells, [{ amount: 2n }, { amount: 3n }]), [
    { amount: '2' },
    { amount: '3' },
  ])
  longIntegersAsText(Cells, [UNREAD, UNREAD, UNREAD])
  longIntegersAsText(Type.Array(Type.Object({ amount: Type.Integer() })), [UNREAD])
  const nested = Type.Array(Type.Object({ of: Type.Array(Amount) }))
  assert.deepEqual(longIntegersAsText(nested, [{ of: [1, 2n] }]), [{ of: [1, '2'] }])
})
