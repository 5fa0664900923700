import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reachedScore, type ScoreClaim } from './reached-score.ts'

const claim = (score: number, stoodMs = 0, isSynced = true): ScoreClaim => ({ score, stoodMs, isSynced })

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
  assert.equal(reachedScore([claim(1_000, 6_000), claim(90_000), claim(1_100)], 600), 90_000)
  assert.equal(reachedScore([claim(1_000), claim(90_000), claim(1_100, 0, false)], 600), 90_000)
  assert.equal(reachedScore([claim(1_000), claim(90_000), claim(5_000)], 600), 90_000)
})
