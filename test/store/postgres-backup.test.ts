/**
 * A PostgreSQL store is backed up by PostgreSQL's own programs and restored to a point in time on another server. Both
 * commands are killed on the way.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
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
