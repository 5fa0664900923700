import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { list, object } from '../contract/endpoint.ts'
import { previewAnswer } from '../contract/envelopes.ts'
import { render, renderStored } from './render.ts'

const returns = object('Document', Type.Object({}))

test('a shared document keeps its compressed forms, until there is another; any other text has none', async () => {
  const text = Buffer.from('{}')
  const answer = { kind: 'text', text, contentType: 'application/json', isShared: true } as const
  const first = await render(answer, 'json', returns)
  assert.equal(first.body, text)
  first.encoded?.set('gzip', Buffer.from('compressed'))
  const again = await render({ ...answer }, 'json', returns)
  assert.equal(again.encoded?.get('gzip')?.toString(), 'compressed')
  const next = await render({ ...answer, text: Buffer.from('{}') }, 'json', returns)
  assert.equal(next.encoded?.get('gzip'), undefined)
  const once = await render({ kind: 'text', text, contentType: 'application/json' }, 'json', returns)
  assert.equal(once.encoded, undefined)
})

test('a long page is made in memory that is used again once it is sent, with the tag of a stored page', async () => {
  const rows = list('Row', Type.Object({}), Type.Object({}))
  const answer = { ...previewAnswer(1, false), rows: JSON.stringify({ text: 'é'.repeat(5_000) }) }
  const memory: unknown[] = []
  for (let time = 0; time < 2; time++) {
    const { body, etag, lent } = await render(answer, 'json', rows)
    const stored = await renderStored(answer, 'json', rows)
    assert.equal(String(body), String(stored.body))
    assert.equal(etag, stored.etag)
    memory.push((body as Buffer).buffer)
    lent?.release()
  }
  assert.ok(memory[0] instanceof ArrayBuffer)
  assert.equal(memory[0], memory[1])
  const short = await render({ ...answer, rows: '{}' }, 'json', rows)
  assert.equal(typeof short.body, 'string')
})
