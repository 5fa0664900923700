import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { openChunks } from './chunks.ts'

test('a chunk that is far too long, packed or unpacked, is damaged and not read into memory', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-chunks-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const chunks = openChunks(folder)
  const hash = 'ab'.repeat(32)
  mkdirSync(join(folder, 'ab'))
  const file = join(folder, 'ab', `${hash}.zst`)
  // A sparse file, larger than a single read can return.
  writeFileSync(file, '')
  truncateSync(file, 5_000_000_000)
  await assert.rejects(chunks.read(hash), /is damaged/)
  writeFileSync(file, zstdCompressSync(Buffer.alloc(100_000_000)))
  await assert.rejects(chunks.read(hash), /is damaged/)
})
