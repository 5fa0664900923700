import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ExactJson,
  parseExact,
  parseExactBytes,
  parseExactBytesInSlices,
  writeExact,
} from './exact-json.ts'

function parsed(text: string): ExactJson {
  const read = parseExact(text)
  assert.ok(read.ok, read.ok ? '' : `${read.message} at ${read.at} in ${text}`)
  return read.value
}

test('the largest 64-bit integers survive reading and writing', () => {
  const text =
    '{"nonce":18446744073709551615,"low":-9223372036854775808,"safe":9007199254740991,"next":9007199254740993}'
  const value = parsed(text) as Record<string, unknown>
  assert.equal(value.nonce, 18446744073709551615n)
  assert.equal(value.safe, 9007199254740991)
  assert.equal(value.next, 9007199254740993n)
  assert.equal(writeExact(value as ExactJson), text)
})

test('what JSON.parse accepts is read the same, except integers that it would round', () => {
  for (const text of [
    '{}',
    '[]',
    ' [ 1 , 2.5 , -0.1e-2, 1E3, true, false, null, "a\\u0041\\n\\"" ] ',
    '"\\ud83d\\ude00"',
    '0',
    '-1',
    '{"a":{"b":[{"c":"d"}]},"":1}',
    '{"__proto__":{"x":1},"constructor":2}',
    '"\u2028é"',
  ]) {
    assert.deepEqual(parsed(text), JSON.parse(text), text)
  }
})

test('invalid JSON is refused with its position, and nothing is thrown', () => {
  for (const text of [
    '',
    ' ',
    '{',
    '}',
    '[1,]',
    '{"a":}',
    '{"a" 1}',
    '{a:1}',
    "{'a':1}",
    '01',
    '-',
    '1.',
    '.5',
    '1e',
    '+1',
    'NaN',
    'nul',
    'tru',
    '"',
    '"\\x"',
    '"\\u12"',
    '"\n"',
    '[1 2]',
    '1 1',
    '{"a":1,}',
    '1e999',
    '\u00a01',
    '[',
    '"a',
    '{"a":1,"a":2}',
  ]) {
    const read = parseExact(text)
    assert.equal(read.ok, false, text)
  }
})

test('depth, length and the digits of a number are bounded', () => {
  assert.equal(parseExact('['.repeat(100_000)).ok, false)
  assert.equal(parseExact(`${'['.repeat(64)}${']'.repeat(64)}`).ok, true)
  assert.equal(parseExact(`${'['.repeat(65)}${']'.repeat(65)}`).ok, false)
  assert.equal(parseExact('"aaaa"', { maxDepth: 4, maxChars: 5 }).ok, false)
  assert.equal(parseExact('9'.repeat(1_000_000)).ok, false)
})

test('a member called __proto__ is data and reaches no prototype', () => {
  const value = parsed('{"__proto__":{"polluted":true}}') as Record<string, unknown>
  assert.equal(Object.getPrototypeOf(value), Object.prototype)
  assert.equal(value.polluted, undefined)
})

test('bytes that are not UTF-8 are refused, and not read as other characters', async () => {
  const limits = { maxDepth: 8, maxChars: 1_000 }
  const broken = Buffer.from([0x7b, 0x22, 0x61, 0xff, 0x22, 0x3a, 0x31, 0x7d])
  const refusal = { ok: false, message: 'not UTF-8', at: 3 }
  assert.deepEqual(parseExactBytes(broken, limits), refusal)
  assert.deepEqual(await parseExactBytesInSlices(broken, limits), refusal)
  const whole = Buffer.from('{"ä\ufffd😀":1}')
  assert.deepEqual(parseExactBytes(whole, limits), { ok: true, value: { 'ä\ufffd😀': 1 } })
})

test('the number of values may be limited, and every array, object and scalar counts', () => {
  const limits = { maxDepth: 8, maxChars: 1_000, maxValues: 6 }
  assert.ok(parseExact('{"a":[1,{},[]],"b":null}', limits).ok)
  const read = parseExact('{"a":[1,{},[]],"b":null,"c":2}', limits)
  assert.deepEqual(read, { ok: false, message: 'more than 6 values', at: 28 })
})
