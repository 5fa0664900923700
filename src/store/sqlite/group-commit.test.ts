import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { ThreadCall } from '../../kit/thread-calls.ts'
import { commitGroup } from './group-commit.ts'

function setUp(t: { after(run: () => void): void }) {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-group-'))
  const file = join(folder, 'a.db')
  const [own, other] = [new DatabaseSync(file, { timeout: 0 }), new DatabaseSync(file, { timeout: 0 })]
  own.exec('CREATE TABLE rows (n INTEGER)')
  t.after(() => {
    own.close()
    other.close()
    rmSync(folder, { recursive: true, force: true })
  })
  let forgotten = 0
  const writes = {
    operations: { add: (n: number | string) => void own.prepare('INSERT INTO rows VALUES (?)').run(n) },
    forget: () => void forgotten++,
  }
  const commit = (...numbers: (number | string)[]) => {
    const calls = numbers.map((n, id) => ({ id, name: 'add', args: [n] }) as unknown as ThreadCall)
    const [first, ...waiting] = calls as [ThreadCall, ...ThreadCall[]]
    return commitGroup(own, writes, first, () => waiting.shift())
  }
  return { own, other, commit, forgotten: () => forgotten }
}

test('a call is answered although the transaction cannot begin, and the next one is carried out', (t) => {
  const { own, other, commit, forgotten } = setUp(t)
  other.exec('BEGIN IMMEDIATE')
  const replies = commit(1)
  assert.deepEqual(
    replies.map((reply) => [reply.id, 'error' in reply]),
    [[0, true]],
  )
  assert.equal(forgotten(), 1)
  other.exec('ROLLBACK')
  assert.equal(commit(2, 3).length, 2)
  assert.deepEqual(own.prepare('SELECT count(*) AS n FROM rows').get()?.n, 2)
})

test('a disk that is full in the middle of a group is the error of all its calls, and none is done', (t) => {
  const { own, commit, forgotten } = setUp(t)
  own.exec('PRAGMA max_page_count = 2')
  const replies = commit(1, 'x'.repeat(100_000), 3)
  const FULL = 13
  assert.deepEqual(
    replies.map((reply) => 'error' in reply && reply.error.members.errcode),
    [FULL, FULL],
  )
  assert.equal(forgotten(), 1)
  assert.equal(own.prepare('SELECT count(*) AS n FROM rows').get()?.n, 0)
})
