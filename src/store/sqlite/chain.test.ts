import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../kit/clock.ts'
import { appendEvents, event } from '../conformance/chain-engine.ts'
import { openSqliteChain } from './chain.ts'
import { APPLICATION_ID, NewerDatabaseError } from './migrate.ts'
import { openDatabase } from './open.ts'

test('sqlite: what the indexing thread has written, another connection reads at once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-chain-'))
  const file = join(folder, 'chain.db')
  const [writer, reader] = [
    openSqliteChain({ file, clock: systemClock, inline: true }),
    openSqliteChain({ file, clock: systemClock }),
  ]
  const seq = await appendEvents(writer.chain, [event('a')])
  assert.equal((await reader.events.after({ afterSeq: seq - 1, limit: 1 })).events.length, 1)
  await Promise.all([writer.close(), reader.close()])
  rmSync(folder, { recursive: true })
})

test('sqlite: a chain file of a newer release is refused', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-chain-'))
  const file = join(folder, 'chain.db')
  const database = openDatabase({ file })
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 999`)
  database.close()
  assert.throws(() => openSqliteChain({ file, clock: systemClock }), NewerDatabaseError)
  rmSync(folder, { recursive: true })
})
