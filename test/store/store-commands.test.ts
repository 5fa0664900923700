/** `tapeline store check` and `store migrate`, as processes. */
import assert from 'node:assert/strict'
import { chmodSync, closeSync, openSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ENVIRONMENTS } from '../../src/core/environment.ts'
import { systemClock } from '../../src/kit/clock.ts'
import type { Finding, Upgrade } from '../../src/store/maintain.ts'
import { checkStore, openStores, parseStoreAddress, upgradeStore } from '../../src/store/open-stores.ts'
import { cli, dataFolder } from '../fakes/service.ts'
import { startCluster, withoutPrograms } from '../postgres/cluster.ts'
import { postgresPlace, postgresRows, withoutPostgres } from '../postgres/test-postgres.ts'
import { until } from '../until.ts'

/** Tests run on a server whose data need not survive a crash of the machine. */
const EXPECTED = ['fsync', 'full_page_writes']

const problemsOf = (findings: readonly Finding[]) =>
  findings.filter(({ state, about }) => state === 'problem' && !EXPECTED.includes(about))

test('a new PostgreSQL store is created by migrate, and check finds nothing wrong with it', {
  skip: withoutPostgres,
}, async () => {
  const place = postgresPlace({ distribute: false })
  const folder = dataFolder()
  const withPassword = place.address.replace('//postgres@', '//postgres:never-shown@')
  try {
    const run = (...args: string[]) => cli(folder.path, ['store', ...args, '--store', withPassword, '--json'])
    const before = await run('check')
    assert.equal(before.code, 1)
    const missing = problemsOf(JSON.parse(before.stdout))
    assert.equal(
      missing.length,
      1,
      'the shared tables; those of an environment are a note until it is served',
    )
    const first = await run('migrate')
    assert.equal(first.code, 0, first.stderr)
    assert.ok((JSON.parse(first.stdout) as Upgrade[]).every(({ from, to }) => from === 0 && to > 0))
    const second = await run('migrate')
    assert.ok((JSON.parse(second.stdout) as Upgrade[]).every(({ from, to }) => from === to))
    const after = await run('check')
    assert.deepEqual(problemsOf(JSON.parse(after.stdout)), [])
    for (const { stdout, stderr } of [before, first, second, after])
      assert.ok(!`${stdout}${stderr}`.includes('never-shown'), 'the password is not printed')
  } finally {
    await place.remove()
    folder.remove()
  }
})

test('check knows every table that the service creates', { skip: withoutPostgres }, async () => {
  const place = postgresPlace({ distribute: false })
  const address = parseStoreAddress(place.address)
  try {
    const stores = openStores(address, systemClock)
    const use = async <S extends { close(): Promise<void> }>(
      store: S,
      run: (store: S) => Promise<unknown>,
    ) => {
      await run(store)
      await store.close()
    }
    await use(stores.accounts(), (store) => store.listAccounts())
    await use(stores.leases(), (store) => store.list())
    await use(stores.coordination(), (store) => store.listHeartbeats())
    for (const environment of ENVIRONMENTS) {
      await use(await stores.environment(environment), (store) => store.series.feeds({}))
      await use(stores.chain(environment), ({ chain }) => chain.checkpoint())
      await use(stores.jobs(environment), (store) => store.probe())
    }
    const upgrades = await upgradeStore(address, systemClock)
    assert.deepEqual(
      upgrades.filter(({ from, to }) => from !== to),
      [],
      'nothing is left to create',
    )
  } finally {
    await place.remove()
  }
})

test('tables of a newer release are refused with a sentence, and nothing is changed', {
  skip: withoutPostgres,
}, async () => {
  const place = postgresPlace({ distribute: false })
  const folder = dataFolder()
  const address = parseStoreAddress(place.address)
  assert.ok(address.engine === 'postgres')
  try {
    await upgradeStore(address, systemClock)
    await postgresRows(`UPDATE ${address.schema}_live.schema_versions SET version = 99 WHERE label = $1`, [
      'jobs',
    ])
    await postgresRows(`DELETE FROM ${address.schema}.schema_versions WHERE label = $1`, ['coordination'])
    const refused = await cli(folder.path, ['store', 'migrate', '--store', place.address])
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /jobs tables have schema version 99, this release knows up to \d+\./)
    assert.doesNotMatch(refused.stderr, /\n\s+at /, 'no stack')
    const problems = problemsOf(await checkStore(address))
    assert.equal(problems.length, 2)
    assert.match(
      problems.map(({ finding }) => finding).join(),
      /coordination not created yet.*jobs 99, newer/,
    )
  } finally {
    await place.remove()
    folder.remove()
  }
})

test('a data folder: its files, their versions, damage, and who else can read them', async () => {
  const folder = dataFolder()
  const address = parseStoreAddress(folder.path)
  const check = async () => problemsOf(await checkStore(address))
  try {
    assert.equal((await check()).length, 1, 'an empty folder is no store')
    const accounts = openStores(address, systemClock).accounts()
    await accounts.listAccounts()
    await accounts.close()
    chmodSync(folder.path, 0o700)
    assert.deepEqual(await check(), [])
    const file = join(folder.path, 'accounts.db')
    chmodSync(file, 0o644)
    assert.match((await check())[0]?.finding ?? '', /other users can open .*accounts\.db/)
    chmodSync(file, 0o600)
    const handle = openSync(file, 'r+')
    writeSync(handle, Buffer.alloc(4096, 0xff), 0, 4096, statSync(file).size - 4096)
    closeSync(handle)
    assert.match((await check())[0]?.finding ?? '', /damaged|malformed/)
  } finally {
    folder.remove()
  }
})

test('check names the standbys and what a failover would lose', { skip: withoutPrograms }, async () => {
  const primary = await startCluster()
  const standby = await startCluster({ from: primary })
  const findings = async () => {
    const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`
    const found = await checkStore(parseStoreAddress(`postgres://postgres@${hosts}/postgres`))
    return (about: string) => found.find((each) => each.about.startsWith(about))
  }
  const settings = async (sql: string) => {
    await primary.query(sql)
    await primary.query('SELECT pg_reload_conf()')
  }
  try {
    // It accepts connections before it requests the first bytes.
    let before = await findings()
    await until('a standby that follows', async () => {
      before = await findings()
      return /^streaming, async, \d+ bytes behind$/.test(before('standby')?.finding ?? '')
    })
    assert.deepEqual(before('replication')?.state, 'note')
    assert.equal(before(`127.0.0.1:${primary.port}`)?.finding, 'primary')
    assert.equal(before(`127.0.0.1:${standby.port}`)?.finding, 'standby')

    await settings(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
    await until('it is synchronous', async () => (await findings())('replication')?.state === 'ok')
    await settings(`ALTER SYSTEM SET synchronous_standby_names = 'elsewhere'`)
    await until('writes wait', async () => (await findings())('replication')?.state === 'problem')

    standby.kill()
    const isFound = async () => (await findings())(`127.0.0.1:${standby.port}`)?.state === 'problem'
    await until('a standby that is gone', isFound)
  } finally {
    standby.kill()
    primary.kill()
  }
})
