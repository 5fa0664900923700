/**
 * A PostgreSQL store is backed up by PostgreSQL's own programs and restored to a point in time on another server. Both
 * commands are killed on the way.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { openStores, parseStoreAddress } from '../../src/store/open-stores.ts'
import { manualClock } from '../fakes/manual-clock.ts'
import { cli, cliJson, dataFolder } from '../fakes/service.ts'
import { type Cluster, startCluster, withoutPrograms } from '../postgres/cluster.ts'
import { seededRandom } from '../seeded-random.ts'
import { until } from '../until.ts'
import { START_MS } from './drawn-data.ts'
import { fillStores } from './filled-store.ts'

const KILLS = process.env.TAPELINE_SOAK === undefined ? 1 : 10
const MAX_KILL_MS = 3_000
const ROOT = join(import.meta.dirname, '..', '..')

/** Number and hash of the rows of every table. */
async function hashesOf(cluster: Cluster): Promise<Record<string, string>> {
  const tables = await cluster.query(
    `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND starts_with(n.nspname, 'tapeline') ORDER BY 1`,
  )
  const found: Record<string, string> = {}
  for (const { name } of tables) {
    const [row] = await cluster.query(
      `SELECT count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' ORDER BY t::text)), '') AS hash FROM ${name} t`,
    )
    found[String(name)] = String(row?.hash)
  }
  return found
}

function start(args: readonly string[], env: Record<string, string>): ChildProcess {
  const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('TAPELINE_'))
  return spawn(process.execPath, ['src/main.ts', ...args], {
    cwd: ROOT,
    env: { ...Object.fromEntries(clean), ...env },
    stdio: 'ignore',
  })
}

test('a PostgreSQL store is restored to a point in time, with the rows of that instant and numbers far above', {
  skip: withoutPrograms,
}, async (t) => {
  const random = seededRandom(t)
  const folder = dataFolder()
  t.after(() => folder.remove())
  chmodSync(folder.path, 0o755)
  const place = (name: string) => join(folder.path, name)
  const [backups, target, data] = [place('backups'), place('target'), place('data')]
  for (const path of [backups, data]) mkdirSync(path)
  // The server writes its archive here, as another user than the command.
  mkdirSync(join(backups, 'wal'))
  chmodSync(join(backups, 'wal'), 0o777)
  const settings = ['archive_mode=on', `archive_command=cp %p ${backups}/wal/%f`]
  const lost = await startCluster({ settings })
  t.after(() => lost.stop())
  const env = {
    ...{ TAPELINE_DATA: data, TAPELINE_STORE: lost.address },
    TAPELINE_SECRET: 'a secret of more than thirty-two characters',
  }
  const clock = manualClock(START_MS)
  const stores = openStores(parseStoreAddress(lost.address), clock)
  await fillStores(stores, random, clock)
  const account = async (email: string) => {
    const accounts = stores.accounts()
    await accounts.createAccount({ id: `acc_${email}`, email, plan: 'free', billingDay: 1, createdAtMs: 1 })
    await accounts.close()
  }

  for (let i = 0; i < KILLS; i++) {
    const child = start(['backup', '--to', backups], env)
    const exited = once(child, 'exit')
    const killMs = random.int(0, MAX_KILL_MS)
    await Promise.race([wait(killMs), exited])
    child.kill('SIGKILL')
    await exited
    t.diagnostic(`backup killed after ${killMs} ms`)
  }
  const taken = await cliJson<{ taken_at: string; notes?: string }>(
    data,
    ['backup', '--to', backups, '--keep', '2'],
    env,
  )
  assert.equal(taken.notes, undefined)
  const list = await cliJson<{ taken_at: string }[]>(data, ['backup', 'list', '--from', backups], env)
  assert.equal(list[0]?.taken_at, taken.taken_at)
  assert.ok(!existsSync(join(backups, 'work')))

  await account('before@example.com')
  const atInstant = await hashesOf(lost)
  const { newestSeq } = await stores.chain('test').events.bounds()
  const [now] = await lost.query(
    `SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at`,
  )
  await wait(50)
  await account('after@example.com')
  const [switched] = await lost.query('SELECT pg_walfile_name(pg_switch_wal()) AS name')
  await until('the archive', async () => {
    const [row] = await lost.query('SELECT last_archived_wal FROM pg_stat_archiver')
    return String(row?.last_archived_wal) >= String(switched?.name)
  })
  await lost.crash()

  const restore = ['restore', '--from', backups, '--to', target, '--at', String(now?.at)]
  for (let i = 0; i < KILLS; i++) {
    const child = start(restore, env)
    const exited = once(child, 'exit')
    await Promise.race([until('the mark', () => existsSync(join(target, 'restore-unfinished'))), exited])
    await wait(random.int(0, 300))
    child.kill('SIGKILL')
    await exited
    const isMarked = existsSync(join(target, 'restore-unfinished'))
    const hasControl = existsSync(join(target, 'global', 'pg_control'))
    t.diagnostic(`restore killed: ${isMarked ? 'marked' : 'finished'}`)
    assert.ok(isMarked || hasControl, 'without the mark it is whole')
    if (!isMarked) rmSync(target, { recursive: true, force: true })
  }
  const done = await cliJson<{ taken_at: string }>(data, restore, env)
  assert.equal(done.taken_at, taken.taken_at)
  assert.match((await cli(data, restore, env)).stderr, /is not empty/)

  const server = await startCluster({ restored: target })
  t.after(() => server.stop())
  await until('it accepts writes', async () => {
    const [row] = await server.query('SELECT pg_is_in_recovery() AS waits')
    return row?.waits === false
  })
  assert.deepEqual(await hashesOf(server), atInstant)
  const restored = openStores(parseStoreAddress(server.address), clock)
  const seqs: number[] = []
  for (let i = 0; i < 2; i++) {
    const chain = restored.chain('test')
    seqs.push((await chain.events.bounds()).newestSeq)
    await chain.close()
    const jobs = restored.jobs('test')
    await jobs.probe()
    await jobs.close()
  }
  assert.ok((seqs[0] ?? 0) > newestSeq + 1_000_000)
  assert.equal(seqs[1], seqs[0], 'once')
  const [number] = await server.query(
    `SELECT last_value AS last FROM pg_sequences WHERE schemaname = 'tapeline_test' AND sequencename LIKE 'jobs_number%'`,
  )
  assert.ok(Number(number?.last) > 1_000_000)
  const accounts = restored.accounts()
  const emails = (await accounts.listAccounts()).map(({ email }) => email)
  await accounts.close()
  assert.ok(emails.includes('before@example.com') && !emails.includes('after@example.com'))

  const wrong = await cli(data, ['backup', '--to', target], env)
  assert.match(wrong.stderr, /neither empty nor a folder of backups|No PostgreSQL server/)
  const base = join(backups, 'base', readdirSync(join(backups, 'base')).sort()[0] ?? '')
  writeFileSync(join(base, 'PG_VERSION'), 'x')
  const checked = await cli(data, ['backup', 'check', '--from', backups], env)
  assert.equal(checked.code, 1)
  assert.match(checked.stdout, /PG_VERSION/)
})

test('a restore to the last moments before a standby took over has what the lost server had not archived itself', {
  skip: withoutPrograms,
}, async (t) => {
  const folder = dataFolder()
  t.after(() => folder.remove())
  chmodSync(folder.path, 0o755)
  const [backups, data] = [join(folder.path, 'backups'), join(folder.path, 'data')]
  for (const path of [backups, data, join(backups, 'wal')]) mkdirSync(path)
  chmodSync(join(backups, 'wal'), 0o777)
  const settings = ['archive_mode=on', `archive_command=cp %p ${backups}/wal/%f`]
  const started = async (restored?: string) => {
    const server = await startCluster(restored === undefined ? { settings } : { settings, restored })
    t.after(() => server.stop())
    return server
  }
  const add = async (server: Cluster, row: string) => {
    await server.query(`INSERT INTO rows VALUES ('${row}')`)
    await wait(30)
    return new Date().toISOString()
  }
  const isOpen = (server: Cluster) =>
    until('it accepts writes', async () => {
      const [row] = await server.query('SELECT pg_is_in_recovery() AS waits')
      return row?.waits === false
    })

  const first = await started()
  await first.query('CREATE TABLE rows (name text)')
  await cliJson(data, ['backup', '--to', backups], { TAPELINE_STORE: first.address })
  await add(first, 'a')
  await first.query('SELECT pg_switch_wal()')
  const atB = await add(first, 'b')
  await wait(30)
  await add(first, 'c')
  const [place] = await first.query("SELECT current_setting('data_directory') AS path")
  await first.crash()
  // What the lost server had written is what its standby has.
  const standby = join(folder.path, 'standby')
  cpSync(String(place?.path), standby, { recursive: true })
  rmSync(join(standby, 'postmaster.pid'), { force: true })
  writeFileSync(join(standby, 'standby.signal'), '')
  const second = await started(standby)
  await second.query('SELECT pg_promote()')
  await isOpen(second)
  await add(second, 'd')
  const [switched] = await second.query('SELECT pg_walfile_name(pg_switch_wal()) AS name')
  await until('the archive', () => existsSync(join(backups, 'wal', String(switched?.name))))
  await second.crash()

  const target = join(folder.path, 'target')
  await cliJson(data, ['restore', '--from', backups, '--to', target, '--at', atB], {})
  const restored = await started(target)
  await isOpen(restored)
  const [row] = await restored.query("SELECT string_agg(name, '' ORDER BY name) AS rows FROM rows")
  assert.equal(row?.rows, 'ab')
})

test('after a restore to an earlier time every later restore gives the state of the time it names', {
  skip: withoutPrograms,
}, async (t) => {
  const folder = dataFolder()
  t.after(() => folder.remove())
  chmodSync(folder.path, 0o755)
  const [backups, data] = [join(folder.path, 'backups'), join(folder.path, 'data')]
  for (const path of [backups, data, join(backups, 'wal')]) mkdirSync(path)
  chmodSync(join(backups, 'wal'), 0o777)
  const settings = ['archive_mode=on', `archive_command=cp %p ${backups}/wal/%f`]
  const started = async (restored?: string) => {
    const server = await startCluster(restored === undefined ? { settings } : { settings, restored })
    t.after(() => server.stop())
    return server
  }
  /** Returns a time at which this row is the newest one. */
  const add = async (server: Cluster, row: string) => {
    await server.query(`INSERT INTO rows VALUES ('${row}')`)
    await wait(20)
    const atMs = Date.now()
    await wait(20)
    return new Date(atMs).toISOString()
  }
  const lose = async (server: Cluster) => {
    const [switched] = await server.query('SELECT pg_walfile_name(pg_switch_wal()) AS name')
    await until('the archive', () => existsSync(join(backups, 'wal', String(switched?.name))))
    await server.crash()
  }
  const backUp = (server: Cluster) =>
    cliJson<{ taken_at: string }>(data, ['backup', '--to', backups], { TAPELINE_STORE: server.address })
  let restores = 0
  const restore = async (...at: string[]) => {
    const target = join(folder.path, `target-${++restores}`)
    const { taken_at } = await cliJson<{ taken_at: string }>(
      data,
      ['restore', '--from', backups, '--to', target, ...at],
      {},
    )
    const server = await started(target)
    await until('it accepts writes', async () => {
      const [row] = await server.query('SELECT pg_is_in_recovery() AS waits')
      return row?.waits === false
    })
    const [row] = await server.query(
      `SELECT string_agg(name, '' ORDER BY name) AS rows,
        split_part(current_setting('tapeline.restored_from'), '.', 1) AS from FROM rows`,
    )
    return { server, taken_at, rows: row?.rows, fromMs: Number(row?.from) }
  }

  const first = await started()
  await first.query('CREATE TABLE rows (name text)')
  const early = await backUp(first)
  const atA = await add(first, 'a')
  const atB = await add(first, 'b')
  const late = await backUp(first)
  const atC = await add(first, 'c')
  await add(first, 'd')
  await lose(first)

  const second = await restore('--at', atA)
  assert.deepEqual([second.rows, second.taken_at], ['a', early.taken_at])
  const atE = await add(second.server, 'e')
  await add(second.server, 'f')
  await lose(second.server)

  // The newer backup is of what the first restore left out.
  const third = await restore()
  assert.deepEqual([third.rows, third.taken_at], ['aef', early.taken_at])
  await lose(third.server)

  // Times from before the first restore are those of the first server, whatever was restored since.
  const fourth = await restore('--at', atB)
  assert.deepEqual([fourth.rows, fourth.taken_at], ['ab', early.taken_at])
  await lose(fourth.server)
  const fifth = await restore('--at', atC)
  assert.deepEqual([fifth.rows, fifth.taken_at], ['abc', late.taken_at])
  assert.ok(fifth.fromMs < Date.parse(early.taken_at), 'numbers continue above those of the other timelines')
  await lose(fifth.server)
  const sixth = await restore('--at', atE)
  assert.deepEqual([sixth.rows, sixth.taken_at], ['ae', early.taken_at])
})
