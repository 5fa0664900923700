/**
 * The alerts about what an operator has set up: the certificate, the backups, the process itself. The service runs in
 * this process and its clock is set ahead.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { systemClock } from '../../src/kit/clock.ts'
import { makeCertificate, SKIP_CERTIFICATES } from '../fakes/certificates.ts'
import { cli, startTestService, type TestService } from '../fakes/service.ts'
import { expectFiring, noPromtool, type Scrape, scrape } from './promtool.ts'

const DAY_MS = 24 * 3_600_000
const EVERY_SECONDS = 60
/** Longer than any of these alerts waits. */
const SCRAPES = 70

const skip = noPromtool || SKIP_CERTIFICATES
const folder = mkdtempSync(join(tmpdir(), 'tapeline-alerts-'))
let aheadMs = 0
const clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
let used: TestService
let url: string
let files: ReturnType<typeof makeCertificate>

before(async () => {
  if (skip) return
  files = makeCertificate(folder, 'own', 60)
  const env = {
    TAPELINE_TLS_CERT: files.cert,
    TAPELINE_TLS_KEY: files.key,
    TAPELINE_METRICS_PORT: '0',
    // Whatever this machine has left.
    TAPELINE_MIN_FREE: '1MB',
  }
  used = await startTestService({ clock, env })
  url = used.service.metricsUrl ?? ''
  await backUp(join(folder, 'backups'), 0)
})
after(async () => {
  await used?.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function backUp(to: string, code: number): Promise<void> {
  const done = await cli(used.folder, ['backup', '--to', to])
  assert.equal(done.code, code, done.stderr)
}

/** What the service says now, over the time that every alert waits. */
async function expectNow(alerts: readonly { alertname: string }[]): Promise<void> {
  const { text } = await scrape(url)
  const scrapes = Array.from({ length: SCRAPES }, () => ({ atMs: clock.now(), text }))
  await expectFiring(scrapes, { everySeconds: EVERY_SECONDS, alerts })
}

test('a service with a fresh backup and a certificate for two months has no alert', { skip }, () =>
  expectNow([]),
)

test('a backup that fails, and later has become old', { skip }, async () => {
  const inTheWay = join(folder, 'a-file')
  writeFileSync(inTheWay, '')
  await backUp(join(inTheWay, 'backups'), 1)
  await expectNow([{ alertname: 'TapelineBackupFailed' }])
  aheadMs = 2 * DAY_MS
  await expectNow([{ alertname: 'TapelineBackupFailed' }, { alertname: 'TapelineBackupOld' }])
  aheadMs = 0
  await backUp(join(folder, 'backups'), 0)
})

test('a live environment of which there never was a backup, after a day and a half', { skip }, async () => {
  const env = { TAPELINE_TEST: 'off', TAPELINE_NODES: 'ws://127.0.0.1:9', TAPELINE_METRICS_PORT: '0' }
  const live = await startTestService({ env })
  const { text } = await scrape(live.service.metricsUrl ?? '')
  await live.stop()
  const backups = text?.split('\n').filter((line) => line.startsWith('tapeline_backup')) ?? []
  // Stopped for half an hour in between.
  const isAway = (index: number) => index > 99 && index < 106
  const during = (hours: number) =>
    Array.from({ length: hours * 12 + 2 }, (_, index) => ({
      atMs: 0,
      text: isAway(index) ? undefined : backups.join('\n'),
    }))
  await expectFiring(during(1), { everySeconds: 300, alerts: [] })
  await expectFiring(during(37), { everySeconds: 300, alerts: [{ alertname: 'TapelineBackupMissing' }] })
})

test('calls that no node can answer', { skip }, async () => {
  const key = await used.key()
  const scrapes: Scrape[] = []
  const ca = readFileSync(files.cert)
  // A call waits a second for a node: five minutes for Prometheus.
  while (scrapes.length < 7) {
    assert.equal(await statusOf({ url: `${used.url}/rpc`, key, ca }), 503)
    scrapes.push(await scrape(url))
  }
  const alerts = [{ alertname: 'TapelineErrors' }]
  await expectFiring(scrapes, { everySeconds: 300, alerts })
})

function statusOf({ url: to, key, ca }: { url: string; key: string; ca: Buffer }): Promise<number> {
  const headers = { 'Content-Type': 'application/json', 'X-API-Key': key }
  return new Promise((resolve, reject) => {
    const sent = request(to, { method: 'POST', headers, ca }, (answer) => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
    sent.on('error', reject)
    sent.end('{"jsonrpc":"2.0","id":1,"method":"getBlockDagInfo"}')
  })
}

test('a certificate that expires within two weeks', { skip }, async () => {
  aheadMs = 50 * DAY_MS
  await expectNow([{ alertname: 'TapelineCertificateExpires' }, { alertname: 'TapelineBackupOld' }])
})

test('a service that is stopped', { skip }, async () => {
  await used.service.stop()
  await expectNow([{ alertname: 'TapelineDown' }])
})
