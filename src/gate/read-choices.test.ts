import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptedFormat } from './read-choices.ts'

test('the preferred format wins, the first of equals, and JSON where none is named', () => {
  assert.equal(acceptedFormat(undefined), 'json')
  assert.equal(acceptedFormat('*/*'), 'json')
  assert.equal(acceptedFormat('text/html,application/xhtml+xml,*/*;q=0.8'), 'json')
  assert.equal(acceptedFormat('text/csv'), 'csv')
  assert.equal(acceptedFormat('text/csv, application/json'), 'csv')
  assert.equal(acceptedFormat('application/json, text/csv'), 'json')
  assert.equal(acceptedFormat('text/csv;q=0.5, application/x-ndjson;q=0.9'), 'ndjson')
  assert.equal(acceptedFormat('text/csv;q=0'), 'json')
  assert.equal(acceptedFormat('Application/X-NDJSON; charset=utf-8'), 'ndjson')
  for (const word of ['constructor', '__proto__', 'toString']) assert.equal(acceptedFormat(word), 'json')
})
