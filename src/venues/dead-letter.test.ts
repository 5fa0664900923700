import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDeadLetters, DEAD_LETTER_TEXT_LENGTH } from './dead-letter.ts'

test('letters are all counted, the newest kept, long ones cut', () => {
  const reported: string[] = []
  const letters = createDeadLetters({
    venue: 'toy',
    kept: 3,
    onLetter: (letter) => reported.push(letter.text.slice(0, 1)),
  })
  for (let index = 0; index < 5; index++) {
    const text = `${index}${'x'.repeat(10_000)}`
    letters.add({
      receivedMs: index,
      reason: index < 4 ? 'malformed' : 'wrong_shape',
      origin: 'socket',
      text,
    })
  }
  assert.equal(letters.total, 5)
  assert.deepEqual(letters.counts(), { malformed: 4, wrong_shape: 1 })
  assert.deepEqual(
    letters.recent().map((letter) => letter.receivedMs),
    [2, 3, 4],
  )
  assert.ok(
    letters
      .recent()
      .every((letter) => letter.text.length === DEAD_LETTER_TEXT_LENGTH && letter.venue === 'toy'),
  )
  assert.deepEqual(reported, ['0', '1', '2', '3', '4'])
})
