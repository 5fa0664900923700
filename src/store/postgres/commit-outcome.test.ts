/** Whether a write took effect is found out if its answer is lost. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCluster, withoutPrograms } from '../../../test/postgres/cluster.ts'
import { startCuttingProxy } from '../../../test/postgres/cutting-proxy.ts'
import { openNotes } from '../../../test/postgres/notes.ts'
import { postgresPlace, withoutPostgres } from '../../../test/postgres/test-postgres.ts'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'

const isNotDone = (error: unknown) => error instanceof StoreUnavailableError && error.mayBeDone === false

test('a write whose commit was cut is answered as done when it is, and as not done when it is not', {
  skip: withoutPostgres,
}, async () => {
  const place = postgresPlace()
  const proxy = await startCuttingProxy(place.address)
  const notes = openNotes(proxy.address)
  try {
    assert.deepEqual(await notes.all(), [], 'the table is there')
    // The cuts hit the first write of a connection, and a later one.
    proxy.cutNextCommit('before')
    await assert.rejects(notes.put('a'), isNotDone)
    proxy.cutNextCommit('after')
    assert.equal(await notes.put('b'), 'b')
    await notes.put('c')
    proxy.cutNextCommit('after')
    assert.equal(await notes.put('d'), 'd')
    await notes.put('e')
    proxy.cutNextCommit('before')
    await assert.rejects(notes.put('f'), isNotDone)
    assert.equal(proxy.cuts, 4)
    assert.deepEqual(await notes.all(), ['b', 'c', 'd', 'e'])
  } finally {
    await notes.close()
    await proxy.close()
    await place.remove()
  }
})

test('a write that a crash of the server has undone is not answered as done because of a later one', {
  skip: withoutPrograms,
}, async () => {
  // Uncommitted changes do not reach the disk, so the server assigns the same transaction id again.
  const cluster = await startCluster({ settings: ['wal_writer_delay=10000'] })
  const proxy = await startCuttingProxy(cluster.address)
  const notes = openNotes(proxy.address)
  try {
    await notes.put('a')
    proxy.cutNextCommit('before', async () => {
      await cluster.crash()
      await cluster.restart()
      for (let number = 0; number < 20; number++)
        await cluster.query(`INSERT INTO tapeline.notes VALUES ('other ${number}')`)
    })
    await assert.rejects(notes.put('lost'), StoreUnavailableError)
    assert.equal(proxy.cuts, 1)
    assert.deepEqual(
      (await notes.all()).filter((text) => !text.startsWith('other')),
      ['a'],
    )
  } finally {
    await notes.close()
    await proxy.close()
    await cluster.stop()
  }
})
