import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { openBackupFolder } from './backup-folder.ts'
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

/** The paths that are flushed to disk from now on. */
async function flushedPaths(t: TestContext, folder: string): Promise<string[]> {
  const handle = await open(folder)
  const prototype = Object.getPrototypeOf(handle) as FileHandle
  await handle.close()
  const { sync } = prototype
  const flushed: string[] = []
  t.mock.method(prototype, 'sync', function (this: FileHandle) {
    flushed.push(readlinkSync(`/proc/self/fd/${this.fd}`))
    return sync.call(this)
  })
  return flushed
}

const skip = existsSync('/proc/self/fd') ? false : 'paths of open files are not known here'

test('a chunk that a killed backup has stored is on disk once the next backup has flushed', {
  skip,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-chunks-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const { hash } = await openChunks(folder).put(Buffer.from('of a backup that was killed'))
  const flushed = await flushedPaths(t, folder)
  const chunks = openChunks(folder)
  const { addedBytes } = await chunks.put(Buffer.from('of a backup that was killed'))
  assert.equal(addedBytes, 0)
  await chunks.flush()
  assert.deepEqual(flushed.sort(), [folder, join(folder, hash.slice(0, 2))])
})

test('a new folder of backups is on disk, with those above and in it', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-chunks-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const flushed = await flushedPaths(t, folder)
  const backups = join(folder, 'disk', 'backups')
  await (await openBackupFolder(backups, () => () => {})).close()
  for (const path of [folder, join(folder, 'disk'), backups]) assert.ok(flushed.includes(path), path)
  assert.equal(flushed.at(-1), backups, 'once its folders were created')
})
