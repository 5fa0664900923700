import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prettyJson } from '../../src/dashboard/web/pretty-json.ts'

test('it is formatted like JSON.stringify', () => {
  const value = { a: [1, -2.5e3, 'x, {y}: "z"\\'], b: {}, c: [], d: { e: null, f: [true, [false]] } }
  assert.equal(prettyJson(JSON.stringify(value)), JSON.stringify(value, null, 2))
})

test('numbers that a parser would change stay as they were sent', () => {
  assert.equal(prettyJson('{"n":18446744073709551615}'), '{\n  "n": 18446744073709551615\n}')
})

test('what was cut off is shown as far as it goes', () => {
  assert.equal(prettyJson('{"a":["b","c'), '{\n  "a": [\n    "b",\n    "c')
})

test('text that is not JSON is left as it is', () => {
  for (const text of ['thank you, all: 1', '<p>not found</p>', '"text"', ''])
    assert.equal(prettyJson(text), text)
})
