import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RoundGaps, splitGap } from './round-gaps.ts'

const OPEN_END = Number.POSITIVE_INFINITY
const OPEN_BEGINNING = Number.NEGATIVE_INFINITY

test('a connection that is lost and falls silent is one gap, which ends when it is up again', () => {
  const gaps = new RoundGaps()
  gaps.addOpen(50, OPEN_END)
  gaps.addOpen(40, OPEN_END)
  gaps.addOpen(60, OPEN_END)
  assert.deepEqual([gaps.isOpen, gaps.ended(), gaps.firstMs], [true, [], 40])
  gaps.addOpen(OPEN_BEGINNING, 70)
  assert.deepEqual([gaps.isOpen, gaps.ended()], [false, [{ fromMs: 40, toMs: 70 }]])
})

test('gaps are requested oldest first, and one that is answered is gone', () => {
  const gaps = new RoundGaps()
  gaps.add({ fromMs: 50, toMs: 60 })
  gaps.add({ fromMs: 10, toMs: 20 })
  const [first, second] = gaps.ended()
  assert.deepEqual([first?.fromMs, second?.fromMs], [10, 50])
  assert.ok(first && second)
  gaps.replace(first, [])
  gaps.replace(second, [{ fromMs: 55, toMs: 60, requests: 1 }])
  assert.deepEqual([gaps.ended(), gaps.firstMs], [[{ fromMs: 55, toMs: 60, requests: 1 }], 55])
  gaps.replace(second, [])
  assert.equal(gaps.isEmpty, false, 'it was replaced before')
})

test('what lies before an answer is in dispute, what lies behind it is still to come', () => {
  const gap = { fromMs: 100, toMs: 200, requests: 2 }
  assert.deepEqual(splitGap(gap, { fromMs: 50, toMs: 150 }), {
    disputed: { fromMs: 100, toMs: 100 },
    answered: { fromMs: 100, toMs: 150 },
    rest: { fromMs: 150, toMs: 200, requests: 2 },
  })
  assert.deepEqual(splitGap(gap, { fromMs: 120, toMs: 300 }), {
    disputed: { fromMs: 100, toMs: 120 },
    answered: { fromMs: 120, toMs: 200 },
    rest: { fromMs: 200, toMs: 200, requests: 2 },
  })
})
