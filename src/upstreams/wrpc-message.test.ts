import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sliceMembers } from '../kit/json-slices.ts'
import { errorText, sliceMessage } from './wrpc-message.ts'

const frame = (text: string) => sliceMessage(Buffer.from(text))

test('the result is cut out byte for byte, wherever in the message it is', () => {
  const result = '{"sequence":18446744073709551615,"a":"}]\\"{[","b":[1,{"c":[]}],"é":"\\\\"}'
  for (const text of [
    `{"id":7,"method":"getBlock","params":${result}}`,
    `{"params":${result},"id":7,"method":"getBlock"}`,
    ` {\n"id" : 7 , "extra":[{"id":9}],"params":\t${result} ,"method":"getBlock" } \n`,
  ]) {
    const cut = frame(text)
    assert.equal(cut?.id, 7)
    assert.equal(cut?.method, 'getBlock')
    assert.equal(cut?.params?.toString(), result)
    assert.equal(cut?.error, undefined)
  }
})

test('a notification has no id, an error has its text', () => {
  const note = frame(
    '{"method":"virtualDaaScoreChangedNotification","params":{"VirtualDaaScoreChanged":{"virtualDaaScore":1}}}',
  )
  assert.equal(note?.id, undefined)
  const [tag, payload] =
    sliceMembers(note?.params ?? Buffer.alloc(0), 16)
      ?.entries()
      .next().value ?? []
  assert.equal(tag, 'VirtualDaaScoreChanged')
  assert.equal(payload?.toString(), '{"virtualDaaScore":1}')
  assert.equal(frame('{"id":null,"method":"x","params":{}}')?.id, undefined)

  const refused = frame('{"id":1,"method":"x","error":{"code":0,"message":"it\\"s \\u0041 no","data":null}}')
  assert.equal(errorText(refused?.error ?? Buffer.alloc(0)), 'it"s A no')
  assert.equal(errorText(Buffer.from('"plain"')), '"plain"')
})

test('what is not one whole object is refused', () => {
  for (const text of [
    '',
    '[]',
    '{',
    '{"id":1',
    '{"id":1}}',
    '{"id":1}x',
    '{"id":1,}',
    '{"id" 1}',
    '{"a":"}',
    '{"params":{"a":[1}',
    '{"id":"7"}',
    '{"id":-1}',
    '{"id":1.5}',
    '{"id":99999999999999999999}',
    '{"a":}',
    '{"a":1:2}',
    '{,}',
    '{"a"}',
  ]) {
    assert.equal(frame(text), undefined, text)
  }
  assert.deepEqual(frame('{}'), { id: undefined, method: undefined, params: undefined, error: undefined })
})

test('any frame with members in any order is cut like a parser would', () => {
  let seed = 7
  const random = (n: number) => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff
    return seed % n
  }
  const value = (depth: number): unknown => {
    const kind = random(depth > 3 ? 5 : 7)
    if (kind === 0) return random(1_000_000)
    if (kind === 1) return '\\"{[}],:é'.slice(random(5), 5 + random(5))
    if (kind === 2) return null
    if (kind === 3) return random(2) === 1
    if (kind === 4) return -random(100) / 7
    if (kind === 5) return Array.from({ length: random(4) }, () => value(depth + 1))
    return Object.fromEntries(Array.from({ length: random(4) }, (_, i) => [`k${i}"`, value(depth + 1)]))
  }
  for (let i = 0; i < 2_000; i++) {
    const params = { inner: value(0) }
    const pairs: [string, unknown][] = [
      ['id', i],
      ['method', 'm'],
      ['params', params],
      ['x', value(0)],
    ]
    pairs.sort(() => random(3) - 1)
    const text = JSON.stringify(Object.fromEntries(pairs), undefined, random(3))
    const cut = frame(text)
    assert.equal(cut?.id, i)
    assert.deepEqual(JSON.parse(cut?.params?.toString() ?? ''), JSON.parse(text).params)
  }
})

test('frames and errors of many members are refused at the bound; a long error text is cut', () => {
  const members = (count: number) => Array.from({ length: count }, (_, at) => `"m${at}":${at}`).join()
  assert.ok(frame(`{${members(16)}}`))
  assert.equal(frame(`{${members(17)}}`), undefined)
  assert.equal(errorText(Buffer.from(`{"message":"${'x'.repeat(100_000)}"}`)).length, 2_000)
  const named = `{"message":"long","at":0,${members(17)}}`
  assert.equal(errorText(Buffer.from(named)), named)
})
