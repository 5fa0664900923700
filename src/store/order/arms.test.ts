import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareText } from './arms.ts'

test('text is compared by the bytes of its UTF-8', () => {
  const texts = [
    '',
    'a',
    'ab',
    'b',
    'A',
    '0x1',
    '0x10',
    '0x2',
    'é',
    'zz',
    '\ud7ff',
    '\ue000',
    '\uffff',
    '𝒳',
    '𝒳a',
    'a𝒳',
  ]
  for (const a of texts) {
    for (const b of texts) {
      const expected = Buffer.compare(Buffer.from(a), Buffer.from(b))
      assert.equal(Math.sign(compareText(a, b)), expected, `${a} and ${b}`)
    }
  }
})
