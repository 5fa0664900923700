/**
 * The alerts of `deploy/prometheus/alerts.yaml` on the metrics of the service as `npm start` runs it: none while all is
 * well, and the right ones while a venue cuts its connections, no node answers, or other programs lock the databases.
 * Half a second between two scrapes becomes a minute for Prometheus. With TAPELINE_SOAK the clean run takes 30 real
 * minutes.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { metricsIn, panelExpressions } from '../deploy/dashboards.ts'
import {
  ALERTS_FILE,
  expectFiring,
  expectValues,
  noPromtool,
  type Sample,
  type Scrape,
  samplesOf,
  scrape,
} from '../deploy/promtool.ts'
import { ask } from '../fakes/client.ts'
import { accept, type Receiver, startReceiver } from '../fakes/receiver.ts'
import { type SandboxService, useSandboxService } from '../fakes/sandbox-service.ts'
import { until } from '../until.ts'

const isLong = process.env.TAPELINE_SOAK !== undefined
const SCRAPE_MS = 500
const FOR_PROMETHEUS_S = 60
/** Longer than any alert waits, including its window. */
const FAULT_SCRAPES = 26
/** Long enough for a busy machine too. */
const FELT_WITHIN_MS = 180_000
const CLEAN = isLong ? { scrapes: 120, everyMs: 15_000 } : { scrapes: 5, everyMs: 200 }
const SECONDS_OF_CLEAN_RUN = 30 * 60

/** Metrics that a healthy service lacks here: no trouble, no TLS, no backup, no growth before its first hour. */
const WITHOUT_VALUE = /_(tls|backup|troubles|dead_letters|growth|disk_full)_/

/** Faults of a minute or more in a service that other tests share run only with `npm run soak`. */
const skip = process.env.TAPELINE_SOAK === undefined ? 'runs with npm run soak' : noPromtool
const clean: Scrape[] = []
const sandbox = useSandboxService()
let used: SandboxService
let receiver: Receiver
/** Faults that no metric shows yet. */
let unfelt: readonly string[] = []

before(async () => {
  if (skip) return
  used = await sandbox()
  receiver = await startReceiver(accept)
  await until('all is well', isWell, 180_000)
  const body = JSON.stringify({ url: receiver.url, kinds: ['block_added'] })
  const headers = { 'Content-Type': 'application/json' }
  const created = await ask(`${used.service.url}/v1/webhooks`, {
    method: 'POST',
    key: used.key,
    body,
    headers,
  })
  assert.equal(created.status, 201, created.text)
  await until('deliveries', () => receiver.received.length > 5, 60_000)
})
after(async () => {
  await receiver?.close()
  // Other tests use the same service, so it is left as it was.
  if (!skip) await until('all is well again', isReady, 120_000)
})

async function isReady(): Promise<boolean> {
  // The key allows 50 requests a second.
  await wait(100)
  return (await ask(`${used.service.url}/ready`)).status === 200
}

/** Whether every source has delivered and the disk was measured. */
async function isWell(): Promise<boolean> {
  if (!(await isReady())) return false
  const samples = samplesOf((await scrapeUsed()).text ?? '')
  const isStale = ({ name, labels, value }: Sample) =>
    name === 'tapeline_source_state' && labels.includes('state="healthy"') && value === 0
  return !samples.some(isStale) && samples.some(({ name }) => name === 'tapeline_disk_used_bytes')
}

const scrapeUsed = () => scrape(`${used.service.url}/metrics`, used.metricsToken)

test('no alert fires while all is well', { skip }, async () => {
  while (clean.length < CLEAN.scrapes) {
    // Only the short run waits: there a moment without processor time would count as minutes.
    if (!isLong) await until('ready', isReady, 60_000)
    clean.push(await scrapeUsed())
    // Panels about calls have values only if there are calls.
    await charge()
    await wait(CLEAN.everyMs)
  }
  const everySeconds = SECONDS_OF_CLEAN_RUN / CLEAN.scrapes
  await expectFiring(clean, { everySeconds, by: ['source', 'part'], ever: true, alerts: [] })
})

test('every metric that an alert or a panel reads is there, and every panel of a service that is well has values', {
  skip,
}, () => {
  const given = new Set([...(clean.at(-1)?.text ?? '').matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
  const alerts = readFileSync(ALERTS_FILE, 'utf8')
  const wanted = [alerts, ...panelExpressions.map(({ expr }) => expr)].flatMap(metricsIn)
  const missing = new Set(wanted.filter((name) => !given.has(name)))
  // It exists only if the service has its own TLS: see `tls.test.ts`.
  assert.deepEqual([...missing], ['tapeline_tls_certificate_expiry_timestamp_seconds'])
  const expressions = panelExpressions.map(({ expr }) => expr).filter((expr) => !WITHOUT_VALUE.test(expr))
  return expectValues(clean, { everySeconds: SECONDS_OF_CLEAN_RUN / CLEAN.scrapes, expressions })
})

test('each fault has its alerts, and no other source or part has one', { skip }, async () => {
  await letDeliveriesPileUp()
  const faults: (() => Promise<void>)[] = []
  const scrapes: Scrape[] = []
  let charging: NodeJS.Timeout | undefined
  try {
    faults.push(await dropVenue())
    faults.push(await hangNodes())
    faults.push(await lock('test-webhooks.db'))
    if (used.hasOwnDisk) faults.push(takeRoom())
    faults.push(await lock('accounts.db'))
    // If credits are leased at this moment they are spent in memory, otherwise nothing can be charged at all.
    charging = setInterval(() => void charge(), 50)
    receiver.answer = accept
    await until('every fault is felt', isFelt, FELT_WITHIN_MS).catch((cause) => {
      throw new Error(`not felt: ${unfelt.join()}`, { cause })
    })
    clearInterval(charging)
    while (scrapes.length < FAULT_SCRAPES) {
      scrapes.push(await scrapeUsed())
      await wait(SCRAPE_MS)
    }
  } finally {
    clearInterval(charging)
    for (const end of faults) await end()
  }
  await expectFiring(scrapes, {
    everySeconds: FOR_PROMETHEUS_S,
    by: ['environment', 'source'],
    alerts: [
      { alertname: 'TapelineSourceStale', environment: 'test', source: 'cexa' },
      { alertname: 'TapelineNoHealthyNode', environment: 'test' },
      { alertname: 'TapelineDeliveriesLate', environment: 'test' },
      { alertname: 'TapelineLedgerBehind' },
      { alertname: 'TapelinePartNotReady' },
      ...(used.hasOwnDisk ? [{ alertname: 'TapelineDiskLow' }] : []),
    ],
  })
})

/** Without events there is nothing to deliver, and no delivery could be late. */
async function letDeliveriesPileUp(): Promise<void> {
  receiver.answer = (_received, response) => void setTimeout(() => response.writeHead(204).end(), 3_000)
  await until('pending deliveries', async () => {
    await wait(SCRAPE_MS)
    return valueIn(await scrapeUsed(), 'tapeline_deliveries_pending{environment="test"}') > 50
  })
}

function valueIn({ text = '' }: Scrape, wanted: string): number {
  return samplesOf(text).find(({ name, labels }) => `${name}${labels}` === wanted)?.value ?? Number.NaN
}

/** The thresholds of these metrics are in real time. */
async function isFelt(): Promise<boolean> {
  await wait(SCRAPE_MS)
  const found = await scrapeUsed()
  const felt = {
    source: valueIn(found, 'tapeline_source_state{environment="test",source="cexa",state="healthy"}') === 0,
    nodes: valueIn(found, 'tapeline_nodes_healthy{environment="test"}') === 0,
    deliveries: valueIn(found, 'tapeline_deliveries_overdue_seconds{environment="test"}') > 10,
    ledger: valueIn(found, 'tapeline_ledger_delay_seconds') > 5,
    disk: !used.hasOwnDisk || valueIn(found, 'tapeline_disk_low') === 1,
  }
  unfelt = Object.entries(felt).flatMap(([fault, isThere]) => (isThere ? [] : [fault]))
  return unfelt.length === 0
}

async function charge(): Promise<void> {
  const { url } = used.service
  await ask(`${url}/v1/candles?symbol=BTC&interval=1m&limit=1`, { key: used.key }).catch(() => {})
}

function controlsOf(what: string): string[] {
  const [, urls = ''] =
    new RegExp(`"control":"([^"]+)"[^\\n]*${what} are up`).exec(used.service.printed()) ?? []
  return urls.split(' ')
}

async function setFault(url: string, fault: object): Promise<() => Promise<void>> {
  const answer = await ask(`${url}/faults`, { method: 'POST', body: JSON.stringify(fault) })
  assert.ok(answer.status < 300, answer.text)
  return async () => void (await ask(`${url}/faults`, { method: 'DELETE' }))
}

const dropVenue = () =>
  setFault(controlsOf('simulated exchanges')[0] ?? '', { kind: 'drop', venue: 'spot', durationMs: 3_600_000 })

async function hangNodes(): Promise<() => Promise<void>> {
  const ends = await Promise.all(controlsOf('simulated nodes').map((url) => setFault(url, { hang: true })))
  return async () => void (await Promise.all(ends.map((end) => end())))
}

/** Leaves less space than the service's limit, but enough for what it writes in the meantime. */
function takeRoom(): () => Promise<void> {
  const ballast = join(used.dataInside, 'ballast')
  const { bavail, bsize } = statfsSync(used.dataInside)
  const bytes = bavail * bsize - 24 * 2 ** 20
  const block = Buffer.alloc(2 ** 20)
  const file = openSync(ballast, 'w')
  for (let written = 0; written < bytes; written += block.length) writeSync(file, block)
  closeSync(file)
  return async () => rmSync(ballast)
}

const LOCK = `const { DatabaseSync } = require('node:sqlite')
const database = new DatabaseSync(process.argv[1], { timeout: 60_000 })
database.exec('BEGIN IMMEDIATE')
process.stdout.write('locked')
process.stdin.resume()
`

/** Acts like a program that opened the database for writing and never ends; it sees the same disk as the service. */
async function lock(name: string): Promise<() => Promise<void>> {
  const inside = used.hasOwnDisk
    ? ['nsenter', '-t', `${used.service.pid}`, '--user', '--mount', '--preserve-credentials']
    : []
  const [command = '', ...args] = [...inside, process.execPath, '-e', LOCK, join(used.data, name)]
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  await Promise.race([once(child.stdout, 'data'), ended])
  assert.equal(child.exitCode, null, 'the database could not be locked')
  return async () => {
    child.kill('SIGKILL')
    await ended
  }
}
