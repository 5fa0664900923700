import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { compress } from './compress.ts'

test('a sealed body is compressed once per encoding; any other body each time', async () => {
  let made = 0
  const body = () => {
    made++
    return Buffer.from('row '.repeat(1_000))
  }
  const first = await compress(body, 'gzip', '"sealed"')
  assert.equal(gunzipSync(first).toString(), 'row '.repeat(1_000))
  assert.equal(await compress(body, 'gzip', '"sealed"'), first)
  assert.equal(made, 1)
  await compress(body, 'br', '"sealed"')
  assert.equal(made, 2)
  await compress(body, 'gzip', undefined)
  await compress(body, 'gzip', undefined)
  assert.equal(made, 4)
})
