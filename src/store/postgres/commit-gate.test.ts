/** While the synchronous standby is gone nothing counts as written, further writes are refused, and reads go on. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Cluster, withoutPrograms } from '../../../test/postgres/cluster.ts'
import { openNotes } from '../../../test/postgres/notes.ts'
import { startSynchronousPair } from '../../../test/postgres/synchronous-pair.ts'
import { promisedMs } from '../../../test/promised-ms.ts'
import { until } from '../../../test/until.ts'
import { StoreUnavailableError, WritesRefusedError } from '../../core/store-unavailable.ts'

const skip = withoutPrograms
const WAITING = `SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`

let primary: Cluster
let standby: Cluster
let notes: ReturnType<typeof openNotes>

before(async () => {
  if (skip !== false) return
  ;({ primary, standby } = await startSynchronousPair())
  notes = openNotes(primary.address)
  await notes.put('a')
})
after(async () => {
  await notes?.close()
  await standby?.stop()
  await primary?.stop()
})

const mayBeDone = (error: unknown) => error instanceof StoreUnavailableError && error.mayBeDone
const isWritten = (text: string) =>
  notes.put(text).then(
    () => true,
    () => false,
  )
/** The text can be repeated, because a refused write of it leaves nothing behind. */
const writesAgain = (text: string) => until('writes are accepted again', () => isWritten(text), 60_000, 200)

test('a commit that waits for a standby that is gone is unknown, and then writes are refused', {
  skip,
}, async () => {
  await standby.crash()
  await assert.rejects(notes.put('b'), mayBeDone)
  const startedMs = performance.now()
  for (let number = 0; number < 50; number++) await assert.rejects(notes.put('c'), WritesRefusedError)
  assert.throws(() => notes.database.checkWrites(), WritesRefusedError)
  assert.ok(performance.now() - startedMs < promisedMs(5_000), 'they are refused at once')
  assert.ok((await primary.query(WAITING)).length <= 2, 'and keep no connection of the server')
  assert.deepEqual(await notes.all(), ['a'])
  await standby.restart()
  await writesAgain('d')
  notes.database.checkWrites()
  await until('the first one is there, and none that was refused', async () => {
    const found = await notes.all()
    return found.join() === 'a,b,d'
  })
})

test('a commit whose wait for the standby was cancelled is not answered as done', { skip }, async () => {
  await standby.crash()
  const writing = notes.put('e')
  writing.catch(() => {})
  await until('it waits', async () => (await primary.query(WAITING)).length > 0, 60_000, 20)
  await primary.query(`SELECT pg_cancel_backend(pid) FROM (${WAITING}) waiting`)
  await assert.rejects(writing, mayBeDone)
  await assert.rejects(notes.put('f'), WritesRefusedError)
  await standby.restart()
  await writesAgain('g')
})

test('a commit that is confirmed while its outcome is looked up counts as done', { skip }, async () => {
  await standby.crash()
  const writing = notes.put('h')
  writing.catch(() => {})
  await until('it waits', async () => (await primary.query(WAITING)).length > 0, 60_000, 20)
  await primary.query(`SELECT pg_cancel_backend(pid) FROM (${WAITING}) waiting`)
  await standby.restart()
  assert.equal(await writing, 'h')
})
