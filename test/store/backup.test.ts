/** Backups of the embedded engine: what is restored is what was there, and no number is given twice. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { systemClock } from '../../src/kit/clock.ts'
import { noteLastBackup } from '../../src/store/backup/last-backup.ts'
import { makeBackup } from '../../src/store/backup/make-backup.ts'
import {
  backupStore,
  checkBackups,
  listBackups,
  openStores,
  parseStoreAddress,
  restoreStore,
} from '../../src/store/open-stores.ts'
import { snapshotFolder } from '../../src/store/sqlite/backup-source.ts'
import { type ManualClock, manualClock } from '../fakes/manual-clock.ts'
import { canMount } from '../fakes/sandbox-service.ts'
import { dataFolder } from '../fakes/service.ts'
import { seededRandom } from '../seeded-random.ts'
import { until } from '../until.ts'
import { START_MS } from './drawn-data.ts'
import { fillStores, servedOf } from './filled-store.ts'
import { CONTINUED, folderHashes, tableHashes, withoutContinued } from './table-hashes.ts'

const HOUR_MS = 3_600_000
const SNAPSHOTS = process.env.TAPELINE_SOAK === undefined ? 30 : 80
const quiet = () => {}

interface Rig {
  readonly data: string
  readonly to: string
  readonly clock: ManualClock
  place(name: string): string
  backup(more?: { data?: string; to?: string; keep?: number }): ReturnType<typeof makeBackup>
  restore(name: string, atMs?: number): ReturnType<typeof restoreStore>
}

/** A data folder with something in every table: filled once, copied for each test. */
const filled = dataFolder()
after(() => filled.remove())
let filling: Promise<void> | undefined

async function fill(t: TestContext): Promise<void> {
  const clock = manualClock(START_MS)
  const address = { ...parseStoreAddress(filled.path), sync: 'off' as const }
  await fillStores(openStores(address, clock), seededRandom(t), clock)
  for (const name of ['webhook.key', 'cursor.key']) writeFileSync(join(filled.path, name), randomBytes(32))
}

async function startRig(t: TestContext): Promise<Rig> {
  filling ??= fill(t)
  await filling
  const folder = dataFolder()
  t.after(() => folder.remove())
  const place = (name: string) => join(folder.path, name)
  const [data, to] = [place('data'), place('backups')]
  const clock = manualClock(START_MS + HOUR_MS)
  cpSync(filled.path, data, { recursive: true })
  return {
    ...{ data, to, clock, place },
    backup: ({ data: folder = data, ...more } = {}) =>
      backupStore(parseStoreAddress(folder), { to, release: '1.0.0', clock, onProgress: quiet, ...more }),
    restore: (name, atMs) =>
      restoreStore(
        { to: place(name), dataFolder: '' },
        {
          ...{ from: to, clock, onProgress: quiet },
          ...(atMs === undefined ? {} : { atMs }),
        },
      ),
  }
}

function execute(file: string, sql: string): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

test('what is restored has the same rows in every table, the same keys and the same answers', async (t) => {
  const { data, clock, place, backup, restore } = await startRig(t)
  const before = folderHashes(data)
  assert.ok(Object.keys(before).length > 50)
  const taken = await backup()
  clock.advance(HOUR_MS)
  const restored = await restore('restored')
  assert.deepEqual([restored.takenAtMs, restored.bytes], [taken.takenAtMs, taken.bytes])
  assert.deepEqual(withoutContinued(folderHashes(place('restored'))), withoutContinued(before))
  assert.equal(CONTINUED.filter((table) => before[table] !== undefined).length, CONTINUED.length)
  for (const name of ['webhook.key', 'cursor.key'])
    assert.deepEqual(readFileSync(join(place('restored'), name)), readFileSync(join(data, name)))
  const [ours, theirs] = await Promise.all(
    [data, place('restored')].map((folder) => servedOf(openStores(parseStoreAddress(folder), clock), clock)),
  )
  // Only the bounds of the log differ.
  assert.deepEqual({ ...theirs, log: '', position: '' }, { ...ours, log: '', position: '' })
  const [[id, bounds], [sameId, moved]] = [ours?.log, theirs?.log] as [string, { newestSeq: number }][] as [
    [string, { newestSeq: number }],
    [string, { newestSeq: number }],
  ]
  assert.equal(sameId, id, 'the log is the same one: webhooks go on where they were')
  assert.ok(moved.newestSeq > bounds.newestSeq + 1_000_000)
})

test('a restore writes all of every file, also where the system takes only a part at a time', async (t) => {
  const { data, to, place, backup, restore } = await startRig(t)
  await backup()
  const handle = await open(join(to, 'tapeline-backups.json'))
  const prototype = Object.getPrototypeOf(handle) as typeof handle
  await handle.close()
  const write = prototype.write as (...args: unknown[]) => Promise<unknown>
  const half = function (this: unknown, bytes: Buffer, offset: number, length: number, position: number) {
    return write.call(this, bytes, offset, Math.ceil(length / 2), position)
  }
  t.mock.method(prototype, 'write', half as never)
  await restore('restored')
  for (const name of ['webhook.key', 'cursor.key'])
    assert.deepEqual(readFileSync(join(place('restored'), name)), readFileSync(join(data, name)))
  assert.deepEqual(withoutContinued(folderHashes(place('restored'))), withoutContinued(folderHashes(data)))
})

test('numbers of events and deliveries are above all that can have been given since the backup', async (t) => {
  const { data, clock, place, backup, restore } = await startRig(t)
  await backup()
  const numbers = (folder: string) => {
    const read = (file: string, sql: string) => {
      const database = new DatabaseSync(join(folder, file), { readOnly: true })
      const { n } = database.prepare(sql).get() as { n: number }
      database.close()
      return n
    }
    return {
      event: read('test-chain.db', 'SELECT newest_seq AS n FROM event_log'),
      delivery: read('test-webhooks.db', `SELECT seq AS n FROM sqlite_sequence WHERE name = 'jobs'`),
    }
  }
  const given = numbers(data)
  clock.advance(30 * 24 * HOUR_MS)
  await restore('restored')
  const next = numbers(place('restored'))
  // A month of 50,000 a second.
  for (const [name, number] of Object.entries(given))
    assert.ok(next[name as 'event'] > number + 30 * 86_400 * 50_000, name)
  assert.ok(next.event < 2 ** 50)
})

test('a second backup stores only what is new; older ones go by --keep, and what is left is whole', async (t) => {
  const { data, to, clock, place, backup, restore } = await startRig(t)
  execute(join(data, 'test.db'), 'CREATE TABLE ballast (x BLOB)')
  for (let i = 0; i < 6; i++)
    execute(join(data, 'test.db'), 'INSERT INTO ballast VALUES (randomblob(1000000))')
  const first = await backup()
  const states = new Map([[first.takenAtMs, folderHashes(data)]])
  for (let i = 0; i < 3; i++) {
    clock.advance(HOUR_MS)
    execute(join(data, 'test.db'), `INSERT INTO ballast VALUES (randomblob(300000))`)
    const next = await backup(i === 2 ? { keep: 2 } : {})
    states.set(next.takenAtMs, folderHashes(data))
    assert.ok(next.addedBytes < 1_500_000, `${next.addedBytes} of ${first.addedBytes}`)
    assert.equal(next.removed, i === 2 ? 2 : 0)
  }
  assert.ok(first.addedBytes > 6_000_000)
  const list = await listBackups(to)
  assert.deepEqual(
    list.map(({ takenAtMs }) => takenAtMs),
    [...states.keys()].reverse().slice(0, 2),
  )
  assert.deepEqual(await checkBackups(to, quiet), { backups: 2, faults: [] })
  const [newest = 0, older = 0] = list.map(({ takenAtMs }) => takenAtMs)
  await restore('older', newest - 1)
  await restore('newest')
  assert.deepEqual(withoutContinued(folderHashes(place('older'))), withoutContinued(states.get(older) ?? {}))
  assert.deepEqual(
    withoutContinued(folderHashes(place('newest'))),
    withoutContinued(states.get(newest) ?? {}),
  )
  await assert.rejects(restore('none', older - 1), /The oldest backup .* after the wanted time/)
  // Chunks that only removed backups used are gone.
  const used = new Set(
    globSync(join(to, 'manifests/*.json')).flatMap((file) =>
      (JSON.parse(readFileSync(file, 'utf8')) as { files: { chunks: string[] }[] }).files.flatMap(
        ({ chunks }) => chunks,
      ),
    ),
  )
  const stored = globSync('chunks/*/*', { cwd: to }).map((path) =>
    path.slice('chunks/ab/'.length, -'.zst'.length),
  )
  assert.deepEqual(new Set(stored), used)
})

test('all files are of one instant, while another process writes to them in turn', async (t) => {
  const { data, to, place } = await startRig(t)
  const files = ['accounts', 'test', 'test-chain', 'test-webhooks'].map((name) => join(data, `${name}.db`))
  for (const file of files) execute(file, 'CREATE TABLE steps (n INTEGER PRIMARY KEY)')
  // Step n is written to the first file, then to the second, …: at any instant they differ by one at most.
  const script = `
    import { DatabaseSync } from 'node:sqlite'
    const inserts = process.argv.slice(1).map((file) => {
      const database = new DatabaseSync(file, { timeout: 10_000 })
      database.exec('PRAGMA synchronous = OFF')
      return database.prepare('INSERT INTO steps VALUES (?)')
    })
    for (let n = 1; ; n++) for (const insert of inserts) insert.run(n)
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, '--', ...files], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const countsOf = (databases: readonly DatabaseSync[]) =>
    databases.map((database) => {
      const { n, last } = database
        .prepare('SELECT count(*) AS n, coalesce(max(n), 0) AS last FROM steps')
        .get() as { n: number; last: number }
      assert.equal(n, last, 'no step is missing')
      return n
    })
  const seen: number[][] = []
  const written = new DatabaseSync(files[0] ?? '', { timeout: 10_000 })
  t.after(() => written.close())
  const lastStep = () => Number(written.prepare('SELECT max(n) AS last FROM steps').get()?.last)
  for (let i = 0; i < SNAPSHOTS; i++) {
    await wait(1)
    const before = seen.at(-1)?.[0] ?? 0
    await until('another step', () => lastStep() > before, 60_000, 1)
    const snapshot = await snapshotFolder(data, systemClock)
    seen.push(countsOf(files.flatMap((file) => snapshot.databases.get(basename(file)) ?? [])))
    snapshot.close()
  }
  await backupStore(parseStoreAddress(data), { to, release: '1', clock: systemClock, onProgress: quiet })
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  await restoreStore(
    { to: place('restored'), dataFolder: '' },
    { from: to, clock: systemClock, onProgress: quiet },
  )
  const restored = files.map((file) => new DatabaseSync(file.replace(data, place('restored'))))
  seen.push(countsOf(restored))
  for (const database of restored) database.close()
  for (const counts of seen) {
    assert.equal(counts.length, files.length)
    const [first = 0] = counts
    for (const [i, count] of counts.entries())
      assert.ok(first - count <= 1 && count <= (counts[i - 1] ?? first), counts.join(' '))
  }
  assert.ok((seen.at(-1)?.[0] ?? 0) > (seen[0]?.[0] ?? 0), 'it was written to')
  assert.ok(new Set(seen.map(String)).size > SNAPSHOTS / 2)
})

test('the hashes of the instant are those of the backup, whatever is written before it ends', async (t) => {
  const { data, to, clock, place, restore } = await startRig(t)
  const atInstant: Record<string, string> = {}
  let isChanged = false
  await makeBackup({
    ...{ to, release: '1', lock: () => quiet },
    async takeSnapshot() {
      const snapshot = await snapshotFolder(data, clock)
      for (const [name, database] of snapshot.databases) Object.assign(atInstant, tableHashes(name, database))
      return snapshot
    },
    onProgress() {
      if (isChanged) return
      isChanged = true
      for (const name of ['accounts', 'test', 'test-chain', 'test-webhooks'])
        execute(join(data, `${name}.db`), 'CREATE TABLE late (x); INSERT INTO late VALUES (1)')
    },
  })
  await restore('restored')
  assert.deepEqual(withoutContinued(folderHashes(place('restored'))), withoutContinued(atInstant))
})

test('a backup leaves nothing beside the databases of a stopped service, so that a cut one is still noticed', async (t) => {
  const { data, clock, backup } = await startRig(t)
  const before = readdirSync(data)
  await backup()
  assert.deepEqual(readdirSync(data), before)
  truncateSync(join(data, 'test.db'), statSync(join(data, 'test.db')).size - 1)
  const openAgain = () => openStores(parseStoreAddress(data), clock).environment('test')
  await assert.rejects(openAgain(), /test\.db is damaged: it has \d+ bytes of \d+/)
  await assert.rejects(backup(), /test\.db is damaged: it has \d+ bytes of \d+/)
})

test('a backup ends before the logs that it holds fill the disk of the service', async (t) => {
  const { data, to, clock } = await startRig(t)
  const attempt = (freeBytes: number) => {
    let isStoring = false
    clock.advance(1)
    return makeBackup({
      ...{ to, release: '1', lock: () => quiet },
      takeSnapshot: () =>
        snapshotFolder(data, clock, { minFreeBytes: 10_000_000, freeBytes: () => freeBytes }),
      onProgress({ step }) {
        // The largest file is released by now, the others are not.
        if (step !== 'store' || isStoring) return
        isStoring = true
        for (const name of ['accounts', 'test', 'test-chain'])
          execute(
            join(data, `${name}.db`),
            'CREATE TABLE IF NOT EXISTS late (x); INSERT INTO late VALUES (randomblob(200000))',
          )
      },
    })
  }
  await assert.rejects(attempt(100_000), /has 0 MB left, and its logs grew by \d+ MB meanwhile/)
  assert.ok((await attempt(5_000_000)).bytes > 0, 'logs that are short beside the free space')
  assert.ok((await attempt(10_000_000)).bytes > 0)
})

test('a folder is empty for a restore even if a backup of it has failed', async (t) => {
  const { place, backup, restore } = await startRig(t)
  await backup()
  mkdirSync(place('restored'))
  noteLastBackup(place('restored'), { failure: { atMs: START_MS, reason: 'has no databases' } })
  writeFileSync(join(place('restored'), 'last-backup.json.new'), '{')
  await restore('restored')
  const names = readdirSync(place('restored'))
  assert.ok(names.includes('accounts.db'))
  assert.deepEqual(
    names.filter((name) => name.startsWith('last-backup')),
    [],
  )
})

test('a folder that is not empty, not ours, of another installation or of a newer release is refused', async (t) => {
  const { data, to, clock, place, backup, restore } = await startRig(t)
  mkdirSync(place('photos'))
  writeFileSync(join(place('photos'), 'cat.jpg'), '')
  await assert.rejects(backup({ to: place('photos') }), /neither empty nor a folder of backups \(cat.jpg\)/)
  assert.deepEqual(readdirSync(place('photos')), ['cat.jpg'])
  await assert.rejects(
    restoreStore({ to: place('x'), dataFolder: '' }, { from: place('photos'), clock, onProgress: quiet }),
    /is no folder of backups/,
  )
  await assert.rejects(backup({ data: place('photos') }), /has no databases of this service/)
  await backup()
  await assert.rejects(restore('photos'), /is not empty \(cat.jpg\)/)
  await assert.rejects(restore('data'), /data is not empty/)
  await assert.rejects(backup(), /newer than now/)
  clock.advance(1_000)
  renameSync(join(data, 'cursor.key'), place('cursor.key'))
  await assert.rejects(backup(), /no cursor.key yet/)
  writeFileSync(join(data, 'cursor.key'), randomBytes(32))
  await assert.rejects(backup(), /backups of another installation/)
  renameSync(place('cursor.key'), join(data, 'cursor.key'))

  const [manifest = ''] = globSync(join(to, 'manifests/*.json'))
  const text = readFileSync(manifest, 'utf8')
  const wrong = [
    [text.replace('"format":1', '"format":2'), /written by a newer release/],
    [text.replace('"test.db"', '"../test.db"'), /is damaged/],
    [text.slice(0, 100), /is damaged/],
    [text.replace(/"takenAtMs":\d+/, '"takenAtMs":9000000000000000'), /is damaged/],
    [text.replace(/("name":)"test-chain.db"/, '$1"test.db"'), /is damaged/],
    [text.replace(/("test-chain.db".*?"schemaVersion":)\d+/, '$199'), /newer release/],
  ] as const
  for (const [content, message] of wrong) {
    assert.notEqual(content, text)
    writeFileSync(manifest, content)
    await assert.rejects(restore('never'), message)
    assert.ok(!existsSync(join(place('never'), 'accounts.db')))
  }
  // A manifest that cannot be read may need chunks that no other one names: nothing is swept.
  writeFileSync(manifest, text.slice(0, 100))
  const chunks = globSync(join(to, 'chunks/*/*')).length
  await assert.rejects(backup({ keep: 1 }), /is damaged/)
  assert.equal(globSync(join(to, 'chunks/*/*')).length, chunks)
  for (const about of ['{"format":', ' '.repeat(70_000)]) {
    writeFileSync(join(to, 'tapeline-backups.json'), about)
    await assert.rejects(backup(), /tapeline-backups.json is damaged/)
  }
  writeFileSync(join(to, 'tapeline-backups.json'), '{"format":2,"of":"tapeline"}')
  await assert.rejects(backup(), /newer release/)
})

test('a disk that is too small is reported, and what it has stays whole', {
  skip: canMount() ? false : 'no mount namespaces here',
}, async (t) => {
  const { data, place, clock } = await startRig(t)
  clock.advance(1)
  execute(join(data, 'test.db'), 'CREATE TABLE ballast (x BLOB)')
  for (let i = 0; i < 20; i++)
    execute(join(data, 'test.db'), 'INSERT INTO ballast VALUES (randomblob(1000000))')
  mkdirSync(place('disk'))
  // A copy of the database fits; the copy and what is stored of it do not.
  const script = `
    export TAPELINE_DATA="$1" DISK="$2" && shift 2
    mount -t tmpfs -o size=8m tmpfs "$DISK" && "$@" backup --to "$DISK"; echo "code $?"
    umount "$DISK" && mount -t tmpfs -o size=38m tmpfs "$DISK" && "$@" backup --to "$DISK"; echo "code $?"
    du -sk "$DISK/chunks" | cut -f 1
  `
  const args = [...['--user', '--map-root-user', '--mount', 'sh', '-c', script, 'sh'], data, place('disk')]
  const command = [process.execPath, join(import.meta.dirname, '../../src/main.ts')]
  const { stdout, stderr } = await promisify(execFile)('unshare', [...args, ...command])
  assert.match(stderr, /disk has \d+\.\d MB left, and a copy of the largest database takes \d+\.\d MB/)
  assert.match(stderr, /The disk of .*disk is full: nothing was added, older backups are whole/)
  const [first, second, kilobytes] = stdout.trim().split('\n')
  assert.deepEqual([first, second], ['code 1', 'code 1'])
  assert.ok(Number(kilobytes) < 1_000, `${kilobytes} kB are left behind`)
})

test('damaged chunks are found by the check, refused by a restore, and all stored anew by the next backup', async (t) => {
  const { to, clock, backup, restore } = await startRig(t)
  const { takenAtMs } = await backup()
  const [chunk = '', ...others] = globSync(join(to, 'chunks/*/*')).sort()
  for (const damaged of [chunk, ...others.slice(-2)]) {
    const bytes = readFileSync(damaged)
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1)
    writeFileSync(damaged, bytes)
  }
  const { faults } = await checkBackups(to, quiet)
  assert.ok(faults.length > 0 && faults.every((fault) => fault.takenAtMs === takenAtMs))
  await assert.rejects(restore('refused'), /This backup is damaged/)
  clock.advance(1_000)
  await assert.rejects(backup(), /was damaged: chunk .* Run the backup again/)
  await backup()
  assert.deepEqual(await checkBackups(to, quiet), { backups: 2, faults: [] })
  rmSync(chunk)
  assert.match((await checkBackups(to, quiet)).faults[0]?.fault ?? '', /is missing/)
})
