import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { object } from '../contract/endpoint.ts'
import { render } from './render.ts'

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
