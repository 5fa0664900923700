/**
 * Must hold: on a good machine, with real files, sockets, a venue and a node, the doctor finds nothing; each planted
 * fault is found by its own check and by no other.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, afterEach, before, test } from 'node:test'
import { examinedMachine } from '../../src/app/machine.ts'
import type { Machine } from '../../src/cli/doctor/check.ts'
import { DOCTOR_CHECKS } from '../../src/cli/doctor/checks.ts'
import { runDoctor } from '../../src/cli/doctor/doctor-command.ts'
import { examine } from '../../src/cli/doctor/examine.ts'
import { diskAdvice } from '../../src/cli/doctor/machine-checks.ts'
import { createOutput } from '../../src/cli/output.ts'
import { loadConfig } from '../../src/config/config.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { noteLastBackup } from '../../src/store/backup/last-backup.ts'
import { lockFolder, openStores, parseStoreAddress, upgradeStore } from '../../src/store/open-stores.ts'
import { makeCertificate, SKIP_CERTIFICATES } from '../fakes/certificates.ts'
import { cli } from '../fakes/service.ts'
import { type FakeNode, startFakeNode } from '../fakes/wrpc-node.ts'
import { postgresPlace, withoutPostgres } from '../postgres/test-postgres.ts'

const isRoot = process.getuid?.() === 0
const NOBODY = 65_534
const DAY_MS = 86_400_000
/** A folder on a real disk, because tests usually have their files in memory. */
const folder = mkdtempSync(join('/var/tmp', 'tapeline-doctor-'))
const data = join(folder, 'data')
/** In place of /etc/tapeline. */
const unitSettings = join(folder, 'etc')
const unitEnv = join(unitSettings, 'tapeline.env')
const strong = (seed: string) => Buffer.from(`${seed}-4fK9zQ2mVb7XwP1cRt8L`).toString('base64')
let node: FakeNode
let venue: Awaited<ReturnType<typeof startVenue>>
let good: Record<string, string>
const undo: (() => void | Promise<void>)[] = []

/** The REST endpoints of the spot exchange that its check requests; its clock can be wrong. */
async function startVenue() {
  const state = { offsetMs: 0, isWrong: false, metrics: 404 }
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://venue')
    const nowMs = Date.now() + state.offsetMs
    response.setHeader('Date', new Date(nowMs).toUTCString())
    if (pathname === '/metrics' || state.isWrong) {
      response.writeHead(pathname === '/metrics' ? state.metrics : 200).end('[]')
      return
    }
    const names: string[] = JSON.parse(searchParams.get('symbols') ?? '[]')
    const symbols = names.map((symbol) => ({ symbol, status: 'TRADING' }))
    response.end(JSON.stringify({ serverTime: nowMs, rateLimits: [], symbols }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    state,
    url,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

before(async () => {
  if (SKIP_CERTIFICATES) return
  mkdirSync(data, { mode: 0o700 })
  mkdirSync(unitSettings)
  writeFileSync(unitEnv, 'TAPELINE_LIVE=all', { mode: 0o600 })
  await openStores(parseStoreAddress(data), systemClock).accounts().close()
  for (const name of readdirSync(data)) chmodSync(join(data, name), 0o600)
  for (const name of ['cursor.key', 'webhook.key'])
    writeFileSync(join(data, name), randomBytes(32), { mode: 0o600 })
  noteLastBackup(data, {
    success: { takenAtMs: Date.now() - DAY_MS, durationMs: 1, to: '/backup', bytes: 1, addedBytes: 1 },
  })
  if (isRoot) chownSync(data, NOBODY, NOBODY)
  const tls = makeCertificate(folder, 'good')
  node = await startFakeNode()
  venue = await startVenue()
  good = {
    TAPELINE_DATA: data,
    TAPELINE_HOST: '0.0.0.0',
    TAPELINE_TLS_CERT: tls.cert,
    TAPELINE_TLS_KEY: tls.key,
    TAPELINE_PUBLIC_URL: 'https://tapeline.invalid',
    TAPELINE_METRICS_TOKEN: strong('metrics'),
    TAPELINE_TEST: 'off',
    TAPELINE_LIVE: 'cexa',
    TAPELINE_VENUE_HOSTS: `binance-spot.rest=${venue.url}`,
    TAPELINE_NODES: node.url,
  }
})
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})
after(async () => {
  await node?.close()
  venue?.close()
  rmSync(folder, { recursive: true, force: true })
})

function machine(env: Record<string, string> = {}, password?: string): Machine {
  const options = { clock: systemClock, storePassword: password, unitSettings }
  return examinedMachine(loadConfig({ ...good, ...env }), options)
}

const skip = SKIP_CERTIFICATES

test('on a good machine the doctor finds nothing', { skip }, async () => {
  assert.deepEqual(await examine(machine()), [])
})

/** A service that nobody else can reach may send webhooks to this machine. */
const PRIVATE = {
  TAPELINE_HOST: '127.0.0.1',
  TAPELINE_PUBLIC_URL: '',
  TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on',
}

/** What is planted, and the settings with which the doctor then runs. */
type Plant = () => Machine | Promise<Machine>

function withMode(path: string, mode: number): Machine {
  const before = statSync(path).mode
  chmodSync(path, mode)
  undo.push(() => chmodSync(path, before))
  return machine()
}

function writeSettings(mode: number): string {
  const file = join(folder, 'settings.json')
  writeFileSync(file, '{}', { mode })
  chmodSync(file, mode)
  return file
}

const FAULTS: Record<string, readonly [string, Plant][]> = {
  settings: [['a mistyped setting', () => machine({ TAPELINE_PROT: '1' })]],
  'data folder': [['a data folder that others open', () => withMode(data, 0o755)]],
  'data files': [
    ['a database that others read', () => withMode(join(data, 'accounts.db'), 0o644)],
    ['a key that others read', () => withMode(join(data, 'cursor.key'), 0o640)],
  ],
  'settings file': [
    ['settings that others read', () => machine({ TAPELINE_CONFIG: writeSettings(0o644) })],
    ['settings of the systemd unit that others read', () => withMode(unitEnv, 0o644)],
  ],
  'file system': [
    [
      'databases in memory',
      () => {
        const memory = mkdtempSync(join('/dev/shm', 'tapeline-doctor-'))
        undo.push(() => rmSync(memory, { recursive: true }))
        if (isRoot) chownSync(memory, NOBODY, NOBODY)
        const success = { takenAtMs: Date.now(), durationMs: 1, to: '/backup', bytes: 1, addedBytes: 1 }
        noteLastBackup(memory, { success })
        return machine({ TAPELINE_DATA: memory })
      },
    ],
  ],
  user: isRoot
    ? [
        [
          'a service of root',
          () => {
            chownSync(data, 0, 0)
            undo.push(() => chownSync(data, NOBODY, NOBODY))
            return machine()
          },
        ],
      ]
    : [],
  memory: [['caches larger than the memory', () => machine({ TAPELINE_CACHE_MB: '65536' })]],
  'open files': [['a service with few files', serviceWithFewFiles]],
  clock: [
    [
      'a clock that is wrong',
      () => {
        venue.state.offsetMs = -10_000
        undo.push(() => {
          venue.state.offsetMs = 0
        })
        return machine()
      },
    ],
  ],
  store: [
    [
      'a damaged database',
      () => {
        const file = join(data, 'accounts.db')
        const whole = readFileSync(file)
        truncateSync(file, Math.floor(whole.length / 2))
        undo.push(() => writeFileSync(file, whole))
        return machine()
      },
    ],
    ['an emptied database of webhooks', withoutWebhooks],
    ['a key that was cut', withCutKey],
    ['a PostgreSQL machine that accepts connections and never answers', () => withSilentStore()],
    [
      'a PostgreSQL server that lets everybody in and then says nothing',
      () => withSilentStore(READY_FOR_QUERY),
    ],
  ],
  'store encryption': [
    [
      'a far database without TLS',
      () => withoutServer({ TAPELINE_STORE: 'postgres://t@db.example.com/t', TAPELINE_SECRET: strong('s') }),
    ],
  ],
  'store password': [
    ['the default password', () => machine({}, 'postgres')],
    [
      'a default password in the address',
      () =>
        withoutServer({ TAPELINE_STORE: 'postgres://t:tapeline@127.0.0.1/t', TAPELINE_SECRET: strong('s') }),
    ],
  ],
  secrets: [
    ['a default token', () => machine({ TAPELINE_METRICS_TOKEN: 'changeme-changeme' })],
    ['a secret of one letter', () => machine({ TAPELINE_BILLING_SECRET: 'a'.repeat(32) })],
  ],
  exposure: [['no TLS', () => machine({ TAPELINE_TLS_CERT: '', TAPELINE_TLS_KEY: '' })]],
  'public URL': [
    ['no public address', () => machine({ TAPELINE_PUBLIC_URL: '' })],
    ['a public address without TLS', () => machine({ TAPELINE_PUBLIC_URL: 'http://127.0.0.1:9' })],
  ],
  'trusted proxies': [['everybody is trusted', () => machine({ TAPELINE_TRUSTED_PROXIES: '0.0.0.0/0' })]],
  certificate: [
    [
      'the key of another certificate',
      () => machine({ TAPELINE_TLS_KEY: makeCertificate(folder, 'other').key }),
    ],
    ['no certificate', () => machine({ TAPELINE_TLS_CERT: join(folder, 'none.pem') })],
  ],
  'certificate expiry': [
    [
      'a certificate near its end',
      () => {
        const { cert, key } = makeCertificate(folder, 'short', 5)
        return machine({ TAPELINE_TLS_CERT: cert, TAPELINE_TLS_KEY: key })
      },
    ],
  ],
  'private key': [['a private key that others read', () => withMode(join(folder, 'good.key'), 0o644)]],
  metrics: [
    [
      'metrics for everybody',
      () => {
        venue.state.metrics = 200
        undo.push(() => {
          venue.state.metrics = 404
        })
        return machine({ TAPELINE_HOST: '127.0.0.1', TAPELINE_PUBLIC_URL: venue.url })
      },
    ],
  ],
  'webhook targets': [
    ['webhooks into the own network', () => machine({ TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on' })],
  ],
  'webhook egress': [
    [
      'receivers of webhooks behind a closed way',
      () => {
        const dead = 'http://127.0.0.1:9999'
        undo.push(() => {
          for (const file of readdirSync(data)) if (file.startsWith('live-webhooks')) rmSync(join(data, file))
        })
        return addReceiver(dead).then(() => machine(PRIVATE))
      },
    ],
  ],
  venues: [
    [
      'a venue that does not answer as one',
      () => {
        venue.state.isWrong = true
        undo.push(() => {
          venue.state.isWrong = false
        })
        return machine()
      },
    ],
  ],
  nodes: [
    ['a node that is not there', () => machine({ TAPELINE_NODES: 'ws://127.0.0.1:9' })],
    ['a node of another network', () => machine({ TAPELINE_NETWORK: 'testnet-10' })],
    [
      'a node without an index',
      () => {
        node.state.hasUtxoIndex = false
        undo.push(() => {
          node.state.hasUtxoIndex = true
        })
        return machine()
      },
    ],
  ],
  'node encryption': [
    [
      'a node over the internet without TLS',
      () => ({ ...machine({ TAPELINE_NODES: 'ws://node.example.com:18110' }), nodes: async () => [] }),
    ],
  ],
  backup: [
    [
      'an old backup',
      () => ({ ...machine(), lastBackup: { success: { takenAtMs: Date.now() - 5 * DAY_MS } } }),
    ],
    ['a backup that failed', () => ({ ...machine(), lastBackup: { failure: { reason: 'no space left' } } })],
  ],
}

test('a PostgreSQL store that was never backed up by this program is no finding, one that was long ago is', async () => {
  const env = { TAPELINE_STORE: 'postgres://t@127.0.0.1/t', TAPELINE_LIVE: 'cexa' }
  const check = DOCTOR_CHECKS.find(({ name }) => name === 'backup')
  const found = async (lastBackup: Machine['lastBackup']) =>
    (await check?.run({ ...machine(env), lastBackup }))?.length
  const success = (days: number) => ({ success: { takenAtMs: Date.now() - days * DAY_MS } })
  assert.equal(await found({}), 0)
  assert.equal(await found(success(1)), 0)
  assert.equal(await found(success(5)), 1)
  assert.equal(await found({ failure: { reason: 'no space left' } }), 1)
})

/** Adds an active webhook to the live environment. */
async function addReceiver(url: string): Promise<void> {
  const store = openStores(parseStoreAddress(data), systemClock).jobs('live')
  const kinds = ['block_added']
  const record = { accountId: 'a', keyId: 'k', url, kinds, addresses: [], batch: false, secret: 's' }
  await store.createSubscription({ ...record, id: `wh_${undo.length}`, createdAtMs: 1 }, 10)
  await store.close()
  for (const name of readdirSync(data)) chmodSync(join(data, name), 0o600)
}

test('a service that has ended is not examined, although its number belongs to another process now', {
  skip,
}, async () => {
  const since = new Date().toISOString()
  writeFileSync(join(data, 'service.json'), JSON.stringify({ pid: 1, since }), { mode: 0o600 })
  assert.deepEqual(await examine(machine()), [])
})

test('where one receiver of webhooks can be reached, others may be down', { skip }, async () => {
  await addReceiver('http://127.0.0.1:9999')
  undo.push(() => {})
  await addReceiver(venue.url)
  assert.deepEqual(await examine(machine(PRIVATE)), [])
  for (const file of readdirSync(data)) if (file.startsWith('live-webhooks')) rmSync(join(data, file))
})

/** Sets the version of the accounts, and returns the one before. */
function setVersion(version: number): number {
  const database = new DatabaseSync(join(data, 'accounts.db'))
  try {
    const before = database.prepare('PRAGMA user_version').get()?.user_version as number
    database.exec(`PRAGMA user_version = ${version}`)
    return before
  } finally {
    database.close()
  }
}

test('before an upgrade, receivers of webhooks are not tried, since opening them would begin it', {
  skip,
}, async () => {
  await addReceiver(venue.url)
  const newest = setVersion(1)
  try {
    const found = await examine(machine(PRIVATE))
    assert.deepEqual(
      found.map(({ check, finding }) => [check, finding]),
      [['webhook egress', 'Receivers of webhooks were not tried: the store is of an older release.']],
    )
  } finally {
    assert.equal(setVersion(newest), 1)
    for (const name of readdirSync(data)) if (name.startsWith('live-webhooks')) rmSync(join(data, name))
  }
})

/** Its receivers are unknown, and nothing may be written to it. */
async function withoutWebhooks(): Promise<Machine> {
  await addReceiver(venue.url)
  const file = join(data, 'live-webhooks.db')
  truncateSync(file, 0)
  undo.push(() => {
    assert.equal(statSync(file).size, 0)
    rmSync(file)
  })
  return machine(PRIVATE)
}

function withCutKey(): Machine {
  const file = join(data, 'webhook.key')
  const whole = readFileSync(file)
  truncateSync(file, 1)
  undo.push(() => writeFileSync(file, whole))
  return machine()
}

/** Only the address is examined; there is no server behind it. */
function withoutServer(env: Record<string, string>): Machine {
  return { ...machine(env), store: async () => [] }
}

/** A process with that limit, in place of the service. */
async function serviceWithFewFiles(): Promise<Machine> {
  const child = spawn('sh', ['-c', 'ulimit -n 256; echo ready; exec sleep 600'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    ...(isRoot ? { uid: NOBODY } : {}),
  })
  await once(child.stdout, 'data')
  const holder = { pid: child.pid ?? 0, since: new Date().toISOString() }
  const lock = lockFolder(data, { name: 'service', holder })
  undo.push(async () => {
    lock.release()
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  return machine()
}

/** Authenticated, the key of the process, ready: what a server says before the first query. */
const READY_FOR_QUERY = Buffer.from('R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x01Z\0\0\0\x05I')

async function withSilentStore(greeting?: Buffer): Promise<Machine> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    if (greeting !== undefined) socket.once('data', () => socket.write(greeting))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  undo.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const store = `postgres://t:${strong('store').replaceAll('=', '')}@127.0.0.1:${port}/t`
  return machine({ TAPELINE_STORE: store, TAPELINE_SECRET: strong('shared') })
}

test('every check but that of the disk has a planted fault, 15 of them at least', { skip }, () => {
  const planted = Object.keys(FAULTS).filter((name) => isRoot || name !== 'user')
  const names = DOCTOR_CHECKS.map(({ name }) => name).filter((name) => name !== 'disk')
  assert.deepEqual(Object.keys(FAULTS).sort(), names.sort())
  assert.ok(planted.length >= 15)
})

for (const [check, faults] of Object.entries(FAULTS))
  for (const [what, plant] of faults)
    test(`${what}: found by the check "${check}", and by no other`, { skip }, async () => {
      const found = await examine(await plant())
      assert.deepEqual([...new Set(found.map((each) => each.check))], [check], JSON.stringify(found))
      for (const { finding, todo } of found) assert.ok(finding.length > 10 && todo.length > 5)
    })

test('a full disk is found by its bytes and by its files', () => {
  const large = { bsize: 4096, bavail: 2 ** 27, files: 2 ** 20, ffree: 2 ** 19 }
  const { minFreeBytes } = loadConfig({}).config
  assert.deepEqual(diskAdvice('/data', large, minFreeBytes), [])
  assert.match(
    diskAdvice('/data', { ...large, bavail: 1000 }, minFreeBytes)[0]?.finding ?? '',
    /0\.0 GB left/,
  )
  assert.match(
    diskAdvice('/data', { ...large, ffree: 10 }, minFreeBytes)[0]?.finding ?? '',
    /10 of 1048576 files left/,
  )
})

test('a check that throws is a finding, and the others go on', { skip }, async () => {
  const broken: Machine = { ...machine({ TAPELINE_PROT: '1' }), store: () => Promise.reject(new Error('no')) }
  const found = await examine(broken)
  assert.deepEqual(
    found.map(({ check, finding }) => [check, finding]),
    [
      ['settings', 'TAPELINE_PROT is not a setting. Did you mean TAPELINE_PORT?'],
      ['store', 'It could not be checked: no'],
    ],
  )
})

test('settings of PostgreSQL that risk the data are found', { skip: skip || withoutPostgres }, async () => {
  const place = postgresPlace()
  try {
    await upgradeStore(parseStoreAddress(place.address), systemClock)
    const env = { TAPELINE_STORE: place.address, TAPELINE_SECRET: strong('shared') }
    const found = (await examine(machine(env))).filter(({ check }) => check === 'store')
    // The test server runs without it, because its data is never needed again.
    assert.deepEqual(
      found.map(({ finding }) => finding.split(' ')[0]),
      ['fsync:', 'full_page_writes:'],
    )
  } finally {
    await place.remove()
  }
})

test('findings are printed for people and for machines; without any, one line says so', {
  skip,
}, async () => {
  const printed = async (json: boolean, env: Record<string, string> = {}) => {
    let text = ''
    const output = createOutput({
      json,
      write: (part) => {
        text += part
      },
    })
    const failure = await runDoctor(machine(env), output, json).then(
      () => undefined,
      (error: Error) => error.message,
    )
    return [text, failure]
  }
  const count = DOCTOR_CHECKS.length
  assert.deepEqual(await printed(false), [`Nothing to do: ${count} checks found nothing.\n`, undefined])
  assert.deepEqual(await printed(true), ['[]\n', undefined])
  const [text, failure] = await printed(true, { TAPELINE_PROT: '1' })
  const [found] = JSON.parse(text ?? '') as { check: string; todo: string }[]
  assert.deepEqual([found?.check, failure], ['settings', `1 finding of ${count} checks.`])
})

test('the command prints what to do, and its exit code says whether there is something', async () => {
  const empty = mkdtempSync(join(tmpdir(), 'tapeline-doctor-'))
  try {
    const { code, stdout, stderr } = await cli(empty, ['doctor'], {
      TAPELINE_HOST: '0.0.0.0',
      TAPELINE_LOG_LEVEL: 'info',
    })
    assert.equal(code, 1)
    assert.match(stdout, /^exposure\n {2}The service listens on 0\.0\.0\.0 without TLS.*\n {2}→ See /m)
    assert.match(stderr, /^\d+ findings of \d+ checks\.$/m)
  } finally {
    rmSync(empty, { recursive: true })
  }
})
