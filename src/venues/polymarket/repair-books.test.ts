import assert from 'node:assert/strict'
import { test } from 'node:test'
import { repairStep } from './repair-books.ts'

const NOW = 1_000_000
const leg = { startMs: NOW - 100_000, endMs: NOW + 100_000 }
const token = { subscribedMs: NOW, lastReceivedMs: NOW, comparedMs: NOW, isSilentSinceSubscribed: false }
const awaited = { ...token, book: { isLive: false, leg } }
const live = { ...token, book: { isLive: true, leg } }

test('a book that does not come is requested after ten seconds and subscribed again after thirty', () => {
  assert.equal(repairStep({ ...awaited, subscribedMs: NOW - 10_000 }, NOW), undefined)
  assert.equal(repairStep({ ...awaited, subscribedMs: NOW - 10_001 }, NOW), 'request')
  assert.equal(repairStep({ ...awaited, subscribedMs: NOW - 30_001 }, NOW), 'resubscribe')
})

test('while the stream sends nothing of a token, its book is not requested', () => {
  assert.equal(
    repairStep({ ...awaited, subscribedMs: NOW - 20_000, isSilentSinceSubscribed: true }, NOW),
    undefined,
  )
})

test('a live book is compared once a minute, and after thirty silent seconds', () => {
  assert.equal(repairStep({ ...live, comparedMs: NOW - 60_000 }, NOW), undefined)
  assert.equal(repairStep({ ...live, comparedMs: NOW - 60_001 }, NOW), 'compare')
  assert.equal(
    repairStep({ ...live, comparedMs: NOW - 30_001, lastReceivedMs: NOW - 30_001 }, NOW),
    'compare',
  )
})

test('a live book is compared once more just before its window ends', () => {
  const ending = { isLive: true, leg: { startMs: 0, endMs: NOW + 5_000 } }
  assert.equal(repairStep({ ...live, book: ending, comparedMs: NOW - 10_000 }, NOW - 1), undefined)
  assert.equal(repairStep({ ...live, book: ending, comparedMs: NOW - 10_000 }, NOW), 'compare')
  assert.equal(repairStep({ ...live, book: ending, comparedMs: NOW }, NOW + 250), undefined)
})

test('a book outside of its window is left alone', () => {
  const ended = { isLive: true, leg: { startMs: 0, endMs: NOW - 1 } }
  assert.equal(repairStep({ ...live, book: ended, comparedMs: 0, lastReceivedMs: 0 }, NOW), undefined)
})
