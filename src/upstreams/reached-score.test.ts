import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reachedScore, type ScoreClaim } from './reached-score.ts'

const claim = (score: number, grown = 50, isSynced = true): ScoreClaim => ({
  ...{ score, grown, isSynced },
  inMs: 5_000,
})

test('the chain is as far as the furthest node says', () => {
  assert.equal(reachedScore([], 600), 0)
  assert.equal(reachedScore([claim(7)], 600), 7)
  assert.equal(reachedScore([claim(1_000), claim(90_000)], 600), 90_000)
  assert.equal(reachedScore([claim(1_000), claim(1_500), claim(2_000)], 600), 2_000)
})

test('a node that is far ahead alone is not believed while two others agree and go on', () => {
  assert.equal(reachedScore([claim(1_000), claim(9_000_000), claim(1_100)], 600), 1_100)
  assert.equal(reachedScore([claim(1_000), claim(9_000_000), claim(1_100), claim(20)], 600), 1_100)
})

test('a node that is far ahead alone is believed if the others stand still, are not synced or do not agree', () => {
  assert.equal(reachedScore([claim(1_000, 0), claim(90_000), claim(1_100)], 600), 90_000)
  assert.equal(reachedScore([claim(1_000), claim(90_000), claim(1_100, 50, false)], 600), 90_000)
  assert.equal(reachedScore([claim(1_000), claim(90_000), claim(5_000)], 600), 90_000)
})

test('two nodes that grow faster than the chain are catching up, and do not refute the one that is far ahead', () => {
  assert.equal(reachedScore([claim(1_000, 2_000), claim(90_000), claim(1_100, 2_000)], 600), 90_000)
  assert.equal(reachedScore([claim(1_000, 2_000), claim(90_000), claim(1_100)], 600), 90_000)
  // A few blocks that arrive together right after a start are no such growth.
  const young = { ...claim(1_100, 25), inMs: 20 }
  assert.equal(reachedScore([claim(1_000), claim(90_000), young], 600), 1_100)
})
