/**
 * Backups and restores that are killed at drawn moments: older backups stay usable, a half-restored folder is never
 * opened, and the next run ends with equal hashes. The long form has more data and more kills.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { systemClock } from '../../src/kit/clock.ts'
import {
  backupStore,
  checkBackups,
  openStores,
  parseStoreAddress,
  restoreStore,
} from '../../src/store/open-stores.ts'
import { manualClock } from '../fakes/manual-clock.ts'
import { cli, dataFolder } from '../fakes/service.ts'
import { type SeededRandom, seededRandom } from '../seeded-random.ts'
import { START_MS } from './drawn-data.ts'
import { fillStores } from './filled-store.ts'
import { folderHashes, type TableHashes, withoutContinued } from './table-hashes.ts'

const isLong = process.env.TAPELINE_SOAK !== undefined
const KILLS = isLong ? 20 : 2
const BALLAST_MB = isLong ? 50 : 2
const MAX_DELAY_MS = isLong ? 200 : 20
const ROOT = join(import.meta.dirname, '..', '..')
const quiet = () => {}

/** Ends itself by SIGKILL when this share of a step is done, or a little later. */
const SCRIPT = `
  import { systemClock as clock } from ${JSON.stringify(join(ROOT, 'src/kit/clock.ts'))}
  import { backupStore, parseStoreAddress, restoreStore } from ${JSON.stringify(join(ROOT, 'src/store/open-stores.ts'))}
  const [what, step, share, delayMs, from, to] = process.argv.slice(1)
  const kill = () => process.kill(process.pid, 'SIGKILL')
  const onProgress = (progress) => {
    if (progress.step !== step || progress.done / progress.total < Number(share)) return
    if (delayMs === '0') kill()
    else setTimeout(kill, Number(delayMs))
  }
  if (what === 'restore') await restoreStore({ to }, { from, clock, onProgress })
  else await backupStore(parseStoreAddress(from), { to, release: '1', keep: 2, clock, onProgress })
`

/** Whether it was killed before it ended. */
async function runKilled(
  random: SeededRandom,
  what: 'backup' | 'restore',
  from: string,
  to: string,
): Promise<{ isKilled: boolean; at: string }> {
  const step = what === 'restore' ? 'restore' : random.pick(['copy', 'store', 'verify'])
  // The end of the last step has the most that can go wrong: renames, the manifest, the removal of old ones.
  const share = random.int(1, 3) === 1 ? 1 : random()
  const delayMs = random.int(0, MAX_DELAY_MS)
  const args = [
    '--input-type=module',
    '-e',
    SCRIPT,
    '--',
    what,
    step,
    String(share),
    String(delayMs),
    from,
    to,
  ]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const [code, signal] = await once(child, 'exit')
  assert.ok(code === 0 || signal === 'SIGKILL', `${code} ${signal}`)
  return { isKilled: signal === 'SIGKILL', at: `${step} ${share.toFixed(2)} + ${delayMs} ms` }
}

function addBallast(data: string, megabytes: number): void {
  const database = new DatabaseSync(join(data, 'test.db'))
  database.exec('CREATE TABLE IF NOT EXISTS ballast (x BLOB)')
  for (let i = 0; i < megabytes; i++) database.exec('INSERT INTO ballast VALUES (randomblob(1000000))')
  database.close()
}

test(`backups and restores killed ${KILLS} times each leave nothing half done`, async (t) => {
  const random = seededRandom(t)
  const folder = dataFolder()
  t.after(() => folder.remove())
  const [data, to] = [join(folder.path, 'data'), join(folder.path, 'backups')]
  mkdirSync(data)
  const clock = manualClock(START_MS)
  const address = { ...parseStoreAddress(data), sync: 'off' as const }
  await fillStores(openStores(address, clock), random, clock)
  for (const name of ['webhook.key', 'cursor.key']) writeFileSync(join(data, name), randomBytes(32))
  addBallast(data, BALLAST_MB)
  await backupStore(parseStoreAddress(data), { to, release: '1', clock: systemClock, onProgress: quiet })
  /** By the number of its backup. */
  const states: TableHashes[] = [withoutContinued(folderHashes(data))]
  const restored = async (name: string): Promise<TableHashes> => {
    const target = join(folder.path, name)
    await restoreStore({ to: target, dataFolder: '' }, { from: to, clock: systemClock, onProgress: quiet })
    return withoutContinued(folderHashes(target))
  }

  let killedBackups = 0
  for (let i = 0; i < KILLS; i++) {
    addBallast(data, 1)
    const { isKilled, at } = await runKilled(random, 'backup', data, to)
    if (isKilled) killedBackups++
    t.diagnostic(`backup ${at}${isKilled ? '' : ': had ended'}`)
    const now = withoutContinued(folderHashes(data))
    const found = await restored(`after-backup-${i}`)
    // It counts from its manifest on: either the old one is the newest, or the new one is.
    const isNew = JSON.stringify(found) === JSON.stringify(now)
    if (isNew) states.push(now)
    assert.deepEqual(found, states.at(-1))
    assert.deepEqual((await checkBackups(to, quiet)).faults, [])
  }
  addBallast(data, 1)
  // As a kill leaves it in the middle of writing one.
  writeFileSync(join(to, 'manifests', '1.json.new'), '{')
  await backupStore(parseStoreAddress(data), {
    to,
    release: '1',
    keep: 1,
    clock: systemClock,
    onProgress: quiet,
  })
  assert.deepEqual(readdirSync(join(to, 'manifests')).length, 1)
  assert.ok(!existsSync(join(to, 'work')))
  const state = withoutContinued(folderHashes(data))

  let killedRestores = 0
  for (let i = 0; i < KILLS; i++) {
    const name = `target-${i}`
    const target = join(folder.path, name)
    const { isKilled, at } = await runKilled(random, 'restore', to, target)
    t.diagnostic(`restore ${at}${isKilled ? '' : ': had ended'}`)
    if (existsSync(join(target, 'restore-unfinished'))) {
      assert.ok(isKilled)
      assert.throws(() => openStores(parseStoreAddress(target), clock), /A restore into .* is unfinished/)
      if (killedRestores++ === 0) await refusedByCommand(target)
      assert.deepEqual(await restored(name), state)
    } else if (existsSync(join(target, 'accounts.db'))) {
      // The mark is gone, so the folder is complete, and another restore does not change it.
      assert.deepEqual(withoutContinued(folderHashes(target)), state)
      await assert.rejects(restored(name), /is not empty/)
    }
    assert.ok(!existsSync(join(target, 'restore-unfinished')))
  }
  t.diagnostic(`${killedBackups} backups and ${killedRestores} restores were killed in the middle`)
  assert.ok(killedBackups > 0)
})

async function refusedByCommand(target: string): Promise<void> {
  const refused = await cli(target, ['accounts', 'list'])
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /A restore into .* is unfinished/)
}
