import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contentHash } from '../kit/content-hash.ts'
import { isLongPage, ndjsonPage } from './ndjson-page.ts'

test('a long page is the same as its text with a row per line, wherever its parts are cut', async () => {
  const row = (i: number) => JSON.stringify({ i, levels: [[1, 2], 'a,b', 'ü\n'], text: 'x'.repeat(i % 97) })
  const rows = Array.from({ length: 20_000 }, (_, i) => row(i))
  const text = rows.join(',\n')
  const expected = Buffer.from(`${rows.join('\n')}\n`)
  const bytes = Buffer.from(text)
  assert.ok(isLongPage(text) && isLongPage([bytes]) && !isLongPage(text.slice(0, 1_000)))
  for (const size of [1, 2, 3, 1_000, 65_536, bytes.length]) {
    const parts: Buffer[] = []
    const end = size < 1_000 ? 20_000 : bytes.length
    for (let at = 0; at < end; at += size) parts.push(bytes.subarray(at, Math.min(end, at + size)))
    if (end < bytes.length) parts.push(bytes.subarray(end))
    const { body, hash } = await ndjsonPage(parts)
    assert.ok(Buffer.concat(body).equals(expected), `parts of ${size}`)
    assert.equal(hash, contentHash(expected))
  }
  assert.ok(Buffer.concat((await ndjsonPage(text)).body).equals(expected))
})
