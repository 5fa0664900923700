import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createSecretBox } from './secret-box.ts'

test('a sealed secret opens only with its key, and its text does not show', () => {
  const box = createSecretBox(randomBytes(32), randomBytes)
  const sealed = box.seal('whsec_abc')
  assert.equal(box.open(sealed), 'whsec_abc')
  assert.ok(!Buffer.from(sealed, 'base64').includes('whsec'))
  assert.notEqual(box.seal('whsec_abc'), sealed)
  assert.throws(() => createSecretBox(randomBytes(32), randomBytes).open(sealed))
})
