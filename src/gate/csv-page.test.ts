import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ROW_SEPARATOR } from '../contract/envelopes.ts'
import { contentHash } from '../kit/content-hash.ts'
import { useTurnTime } from '../kit/turns.ts'
import { csvPage } from './csv-page.ts'

const csvOf = async (rows: readonly string[], columns: readonly string[]) => {
  const { body, hash } = await csvPage(rows.join(ROW_SEPARATOR), columns)
  const text = typeof body === 'string' ? body : Buffer.concat(body).toString()
  assert.equal(hash, contentHash(text))
  return text
}

test('numbers have the digits of the row, however many or small they are', async () => {
  const row = '{"value":8123456789.12345678,"rate":0.0000005,"plain":-1.5}'
  assert.equal(
    await csvOf([row], ['value', 'rate', 'plain']),
    'value,rate,plain\r\n8123456789.12345678,0.0000005,-1.5\r\n',
  )
})

test('a chain amount above 2^53 keeps its digits, inside of an object too', async () => {
  const row = '{"tx_id":"a","amount_sompi":2870000000000000001,"parsed":{"outputs":[9007199254740993]}}'
  const line = 'a,2870000000000000001,"{""outputs"":[9007199254740993]}"\r\n'
  assert.equal(
    await csvOf([row, row], ['tx_id', 'amount_sompi', 'parsed']),
    `tx_id,amount_sompi,parsed\r\n${line}${line}`,
  )
})

test('texts, nulls, lists and objects are fields of RFC 4180, lists and objects as JSON is written', async () => {
  const fields: [json: string, csv: string][] = [
    ['null', ''],
    ['""', '""'],
    ['true', 'true'],
    ['"plain text"', 'plain text'],
    ['"a,b"', '"a,b"'],
    ['"say \\"hi\\"\\r\\n"', '"say ""hi""\r\n"'],
    ['"\\u00e9\\/"', 'é/'],
    ['[]', '[]'],
    ['[[0.5,1.50],[1,2]]', '"[[0.5,1.50],[1,2]]"'],
    ['{ "b": [1.0, "x y"] }', '"{""b"":[1.0,""x y""]}"'],
    ['{"a":"\\u00e9"}', '"{""a"":""é""}"'],
    ['{"b":1,"2":2}', '"{""2"":2,""b"":1}"'],
  ]
  for (const [json, csv] of fields)
    assert.equal(
      await csvOf([`{"other":1,"field":${json}}`], ['field', 'absent']),
      `field,absent\r\n${csv},\r\n`,
    )
  assert.equal(await csvOf([], ['field', 'absent']), 'field,absent\r\n')
})

test('a page that takes long is made in several turns, with the same bytes', async () => {
  const rows = Array.from({ length: 50 }, (_, row) => `{"n":${row},"book":[["é",${row}]]}`)
  const wanted = await csvOf(rows, ['n', 'book'])
  // Starts a new turn, because the slice of the previous one was measured by another clock.
  await nextTurn()
  let nowMs = performance.now()
  const stop = useTurnTime(() => nowMs++)
  try {
    const { body } = await csvPage(rows.join(ROW_SEPARATOR), ['n', 'book'])
    assert.ok(typeof body !== 'string' && body.length > 5, 'several parts')
    assert.equal(await csvOf(rows, ['n', 'book']), wanted)
  } finally {
    stop()
  }
})

test('of many pages at the same time each is made in the end, long and short', {
  timeout: 20_000,
}, async () => {
  const rows = Array.from({ length: 50 }, (_, row) => `{"n":${row}}`)
  const wanted = await csvOf(rows, ['n'])
  await nextTurn()
  let nowMs = performance.now()
  const stop = useTurnTime(() => nowMs++)
  try {
    for (const [long, short] of [
      [12, 0],
      [4, 12],
    ] as const) {
      const pages = await Promise.all([
        ...Array.from({ length: long }, () => csvOf(rows, ['n'])),
        ...Array.from({ length: short }, () => csvOf([], ['n'])),
      ])
      assert.deepEqual(pages, [...Array(long).fill(wanted), ...Array(short).fill('n\r\n')])
    }
  } finally {
    stop()
  }
})
