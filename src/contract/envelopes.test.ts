import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderList, wrappedPage } from './envelopes.ts'

const row = '{"tx_id":"a","amount_sompi":2870000000000000001,"parsed":{"outputs":[9007199254740993]}}'

test('numbers have the digits of the row as CSV too, however many or small they are', () => {
  const row = '{"value":8123456789.12345678,"rate":0.0000005,"plain":-1.5}'
  const page = wrappedPage({ rows: [row], head: '[', tail: ']' })
  assert.equal(
    renderList(page, 'csv', ['value', 'rate', 'plain']),
    'value,rate,plain\r\n8123456789.12345678,0.0000005,-1.5\r\n',
  )
})

test('a chain amount above 2^53 keeps its digits in every format', () => {
  const page = wrappedPage({ rows: [row, row], head: '{"items":[', tail: '],"credits_used":12}' })
  assert.equal(renderList(page, 'json', []), `{"items":[${row},\n${row}],"credits_used":12}`)
  assert.equal(renderList(page, 'ndjson', []), `${row}\n${row}\n`)
  const line = 'a,2870000000000000001,"{""outputs"":[9007199254740993]}"\r\n'
  assert.equal(
    renderList(page, 'csv', ['tx_id', 'amount_sompi', 'parsed']),
    `tx_id,amount_sompi,parsed\r\n${line}${line}`,
  )
})
