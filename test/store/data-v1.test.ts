/** Every later version opens the data folder of version 1. */
import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { openStores, parseStoreAddress } from '../../src/store/open-stores.ts'
import { manualClock } from '../fakes/manual-clock.ts'
import { contentOf, DATA_V1, writeData } from '../fixtures/data-v1.ts'

const FIXTURE = join(import.meta.dirname, '..', 'fixtures', 'data-v1')

test('a data folder of schema version 1 is opened with all its rows', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-'))
  const fresh = mkdtempSync(join(tmpdir(), 'tapeline-'))
  try {
    const packed = globSync('*.gz', { cwd: FIXTURE })
    assert.equal(packed.length, 4)
    for (const file of packed)
      writeFileSync(join(folder, basename(file, '.gz')), gunzipSync(readFileSync(join(FIXTURE, file))))
    const clock = manualClock(DATA_V1.startMs)
    const old = openStores(parseStoreAddress(folder), clock)
    const today = openStores(parseStoreAddress(fresh), clock)
    await writeData(today)
    const [stored, written] = [await old.environment('test'), await today.environment('test')]
    assert.deepEqual(await contentOf(stored), await contentOf(written))
    assert.equal((await contentOf(stored)).rows.flat().length, 180)
    await Promise.all([stored.close(), written.close()])
    const accounts = old.accounts()
    assert.deepEqual(
      (await accounts.listAccounts()).map(({ email }) => email),
      [DATA_V1.email],
    )
    await accounts.close()
    const chain = old.chain('test')
    assert.deepEqual(await chain.chain.checkpoint(), DATA_V1.checkpoint)
    await chain.close()
    const jobs = old.jobs('test')
    await jobs.probe()
    await jobs.close()
  } finally {
    for (const each of [folder, fresh]) rmSync(each, { recursive: true })
  }
})
