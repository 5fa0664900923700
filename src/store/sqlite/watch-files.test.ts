import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { vacuumStep } from './vacuum.ts'
import { watchFiles } from './watch-files.ts'

test('room that the engine gives back is no damage; a file that is cut is', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-watch-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'test.db')
  const database = new DatabaseSync(file)
  database.exec('PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; CREATE TABLE rows (text TEXT)')
  const insert = database.prepare('INSERT INTO rows VALUES (?)')
  for (let row = 0; row < 1_000; row++) insert.run('x'.repeat(2_000))
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const clock = manualClock(0)
  const found: string[] = []
  const watch = watchFiles(clock, (what) => void found.push(what))
  watch.add(file)
  const look = () => {
    clock.advance(1_000)
    return nextTurn()
  }
  const locksBefore = locksOn(file)
  assert.ok(locksBefore === undefined || locksBefore > 0)
  database.exec('DELETE FROM rows WHERE rowid <= 400')
  const before = statSync(file).size
  for (let more = true; more; ) {
    more = vacuumStep(database).more
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    await look()
  }
  assert.ok(statSync(file).size < 0.8 * before, `${statSync(file).size} of ${before}`)
  assert.deepEqual(found, [])
  database.exec('DELETE FROM rows; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)')
  await look()
  assert.ok(statSync(file).size < 0.1 * before, 'all of it at once')
  assert.deepEqual(found, [])
  assert.deepEqual(locksOn(file), locksBefore, 'the engine has its lock as before')
  // Cut by one page only.
  truncateSync(file, statSync(file).size - 4_096)
  await look()
  assert.match(found.join(), /was cut from/)
  database.close()
  watch.close()
})

/** How many locks this process holds on a file; undefined if the system does not report them. */
function locksOn(file: string): number | undefined {
  if (!existsSync('/proc/locks')) return undefined
  const { ino } = statSync(file)
  const locks = readFileSync('/proc/locks', 'utf8').split('\n')
  return locks.filter((line) => line.includes(` ${process.pid} `) && line.includes(`:${ino} `)).length
}
