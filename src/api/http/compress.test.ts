import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { compress } from './compress.ts'

test('a page of the page cache is compressed once per encoding; any other body each time', async () => {
  const forms = new Map<string, Buffer>()
  const encoded = {
    get: (encoding: string) => forms.get(encoding),
    set(encoding: string, bytes: Buffer) {
      stored++
      forms.set(encoding, bytes)
    },
  }
  let made = 0
  let stored = 0
  const body = () => {
    made++
    return Buffer.from('row '.repeat(1_000))
  }
  const [first, beside] = await Promise.all(['', ''].map(() => compress(body, 'gzip', encoded)))
  assert.ok(first)
  assert.equal(beside, first, 'readers at the same time share it')
  assert.equal(stored, 1)
  assert.equal(gunzipSync(first).toString(), 'row '.repeat(1_000))
  assert.equal(await compress(body, 'gzip', encoded), first)
  assert.equal(made, 1)
  await compress(body, 'br', encoded)
  assert.equal(made, 2)
  await compress(body, 'gzip', undefined)
  await compress(body, 'gzip', undefined)
  assert.equal(made, 4)
})
