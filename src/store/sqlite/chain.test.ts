import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ChainEngine } from '../conformance/chain-engine.ts'
import { appendEvents, event } from '../conformance/chain-engine.ts'
import { chainIndexSuite } from '../conformance/chain-index.ts'
import { eventLogSuite } from '../conformance/event-log.ts'
import { type ChainDatabase, openSqliteChain } from './chain.ts'
import { APPLICATION_ID, NewerDatabaseError } from './migrate.ts'
import { openDatabase } from './open.ts'

const SOAK = process.env.TAPELINE_SOAK !== undefined

function sqlite(name: string, inline: boolean): ChainEngine {
  return {
    name,
    async open() {
      const folder = mkdtempSync(join(tmpdir(), 'tapeline-chain-'))
      const file = join(folder, 'chain.db')
      let database: ChainDatabase = openSqliteChain({ file, inline })
      return {
        ...database,
        async reopen() {
          await database.close()
          database = openSqliteChain({ file, inline })
          return database
        },
        async remove() {
          await database.close()
          rmSync(folder, { recursive: true })
        },
      }
    },
  }
}

eventLogSuite(sqlite('sqlite inline', true), SOAK ? 5_000 : 60)
chainIndexSuite(sqlite('sqlite inline', true), SOAK ? 500 : 20)
eventLogSuite(sqlite('sqlite thread', false), 10)
chainIndexSuite(sqlite('sqlite thread', false), 5)

test('sqlite: what the indexing thread has written, another connection reads at once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-chain-'))
  const file = join(folder, 'chain.db')
  const [writer, reader] = [openSqliteChain({ file, inline: true }), openSqliteChain({ file })]
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
  assert.throws(() => openSqliteChain({ file }), NewerDatabaseError)
  rmSync(folder, { recursive: true })
})
