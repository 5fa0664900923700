import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../kit/clock.ts'
import { address, appendEvents, event, hash } from '../conformance/chain-engine.ts'
import { OLD_ROWS, OLD_ROWS_IN_ORDER } from '../conformance/chain-upgrade.ts'
import { openSqliteChain } from './chain.ts'
import { CHAIN_MIGRATIONS } from './chain-schema.ts'
import { APPLICATION_ID, migrate, NewerDatabaseError } from './migrate.ts'
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

test('sqlite: an index of the first release is in the order of block times after the upgrade', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-chain-'))
  const file = join(folder, 'chain.db')
  const database = openDatabase({ file })
  migrate(database, 'chain', CHAIN_MIGRATIONS.slice(0, 1))
  database.prepare('INSERT INTO addresses VALUES (1, ?)').run(address(1))
  for (const [n, status, blockTime, blueScore] of OLD_ROWS) {
    database
      .prepare(
        `INSERT INTO transactions (id, tx_id, status, first_seen, changed_at, mempool_event, accepted_event,
            block_time, accepting_blue_score) VALUES (?, unhex(?), ?, 150, 150, 1, 1, ?, ?)`,
      )
      .run(n, hash(n), status, blockTime, blueScore)
    database.prepare('INSERT INTO address_rows VALUES (1, ?, 0, 1, 1, 0, NULL, NULL)').run(n)
  }
  database.close()
  const { chain, close } = openSqliteChain({ file, clock: systemClock })
  const { rows } = await chain.addressPage({ address: address(1), limit: 10 })
  await close()
  assert.deepEqual(
    rows.map(({ txId }) => Number.parseInt(txId, 16)),
    OLD_ROWS_IN_ORDER,
  )
  rmSync(folder, { recursive: true })
})

test('sqlite: one read of the event log examines about a megabyte of long events, and all of them are found', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-chain-'))
  const file = join(folder, 'chain.db')
  const [writer, { events, ...reader }] = [
    openSqliteChain({ file, clock: systemClock, inline: true }),
    openSqliteChain({ file, clock: systemClock }),
  ]
  const count = 500
  const bytes = 50_000
  const text = 'x'.repeat(bytes)
  await appendEvents(
    writer.chain,
    Array.from({ length: count }, () => event('long', [address(1)], 1, text)),
  )
  // So many addresses are not looked up one by one.
  const unknown = Array.from({ length: 65 }, (_, n) => address(1_000 + n))
  for (const [filters, expected] of [
    [undefined, count],
    [[{ kinds: ['long'] }], count],
    [[{ kinds: ['long'], addresses: unknown }], 0],
  ] as const) {
    let found = 0
    for (let afterSeq = 0; afterSeq < count; ) {
      const page = await events.after({ afterSeq, limit: count, ...(filters && { filters }) })
      const examined = page.upToSeq - afterSeq
      assert.ok(examined > 0 && examined * bytes < 2_000_000, `${examined} events in one read`)
      found += page.events.length
      afterSeq = page.upToSeq
    }
    assert.equal(found, expected)
  }
  await Promise.all([writer.close(), reader.close()])
  rmSync(folder, { recursive: true })
})
