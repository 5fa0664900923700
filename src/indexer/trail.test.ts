import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTrail } from './trail.ts'

const place = (blueScore: number) => ({ hash: String(blueScore), blueScore })

function trailOf(...scores: number[]) {
  const trail = createTrail(place(90))
  for (const [index, blueScore] of scores.entries()) trail.add(place(blueScore), 1_000 * (index + 1))
  return trail
}

test('all blocks are known below the chain block of that time', () => {
  const trail = trailOf(100, 101, 102)
  assert.deepEqual(trail.at(2_500, 102), place(101))
  assert.deepEqual(trail.before(2_500, 102), place(101))
})

test('a subscribed node that is behind has sent nothing above its own end, whoever tells the chain', () => {
  const trail = trailOf(100, 101, 102, 103)
  assert.deepEqual(trail.at(9_000, 101), place(101))
  assert.deepEqual(trail.before(9_000, 101), place(101))
})

test('a node that has told nothing proves nothing: from the last place whose blocks are written', () => {
  const trail = trailOf(100, 101)
  assert.equal(trail.at(9_000), undefined)
  assert.deepEqual(trail.before(9_000), place(90))
  trail.seen(place(100))
  assert.deepEqual(trail.before(9_000), place(100))
})

test('what is not written yet is asked for again, however long ago it was notified', () => {
  const trail = createTrail(undefined)
  for (let n = 0; n < 10; n++) trail.add({ hash: `b${n}`, blueScore: n }, n * 1_000)
  trail.seen({ hash: 'b3', blueScore: 3 })
  assert.equal(trail.unwritten(8_000, 100)?.hash, 'b3')
  trail.seen({ hash: 'b9', blueScore: 9 })
  assert.equal(trail.unwritten(8_000, 100)?.hash, 'b8')
})
