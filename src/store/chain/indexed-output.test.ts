import assert from 'node:assert/strict'
import { test } from 'node:test'
import { indexedOutputs } from './indexed-output.ts'

test('a transaction is read once, however many of its outputs are asked for', () => {
  const output = (amount: number) => ({ amount_sompi: amount, script_public_key: '0000aa', covenant: null })
  const texts: Record<string, string> = {
    a: JSON.stringify({ outputs: Array.from({ length: 50 }, (_, n) => output(n)) }),
    b: JSON.stringify({ outputs: [output(7)] }),
  }
  const read: string[] = []
  const points = Array.from({ length: 100 }, (_, n) => ({ txId: 'abc'[n % 3] ?? '', index: n }))
  const found = indexedOutputs([...points, { txId: 'b', index: 0 }], (txId) => {
    read.push(txId)
    return texts[txId]
  })
  assert.deepEqual(read, ['a', 'b', 'c'])
  assert.deepEqual(
    found.map((one) => one?.amount),
    [...points.map(({ txId, index }) => (txId === 'a' && index < 50 ? BigInt(index) : undefined)), 7n],
  )
})
