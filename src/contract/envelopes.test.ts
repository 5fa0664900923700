import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderList, wrappedPage } from './envelopes.ts'

const row = '{"tx_id":"a","amount_sompi":2870000000000000001,"parsed":{"outputs":[9007199254740993]}}'

test('a chain amount above 2^53 keeps its digits as JSON and NDJSON', () => {
  const page = wrappedPage({ rows: [row, row], head: '{"items":[', tail: '],"credits_used":12}' })
  assert.equal(renderList(page, 'json').join(''), `{"items":[${row},\n${row}],"credits_used":12}`)
  assert.equal(renderList(page, 'ndjson').join(''), `${row}\n${row}\n`)
})
