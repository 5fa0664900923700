/** Unreadable messages can be inspected and counted, and never fill the disk. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { ingestMetrics } from '../../app/ingest-metrics.ts'
import { createLogger } from '../../kit/log.ts'
import { createMetrics } from '../../kit/metrics.ts'
import type { SourceStatus } from '../supervise.ts'
import { openDeadLetterFile } from './dead-letter-file.ts'
import { letterFilesOnDisk } from './letter-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'tapeline-letters-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const letter = (venue: string, text: string) => ({
  ...{ venue, receivedMs: Date.UTC(2026, 10, 1), reason: 'wrong_shape' as const, origin: '/market', text },
})

test('each letter is a line in the file of its venue, and the first of a kind a warning', async () => {
  const lines: string[] = []
  const log = createLogger({ level: 'warn', write: (line) => void lines.push(line) })
  const letters = openDeadLetterFile({
    prefix: join(folder, 'a', 'test-'),
    files: letterFilesOnDisk,
    clock: manualClock(1_000),
    log,
  })
  letters.add(letter('kalshi', '{"odd":1}'))
  letters.add(letter('kalshi', '{"odd":2}'))
  letters.add(letter('polymarket', '{"odd":3}'))
  await letters.close()
  assert.deepEqual(readdirSync(join(folder, 'a')).sort(), ['test-kalshi.ndjson', 'test-polymarket.ndjson'])
  const kept = readFileSync(join(folder, 'a', 'test-kalshi.ndjson'), 'utf8')
    .trim()
    .split('\n')
  assert.deepEqual(
    kept.map((line) => JSON.parse(line)),
    ['{"odd":1}', '{"odd":2}'].map((text) => ({
      ...{ at: '2026-11-01T00:00:00.000Z', venue: 'kalshi', reason: 'wrong_shape', origin: '/market', text },
    })),
  )
  assert.deepEqual(letters.counts(), [
    { venue: 'kalshi', reason: 'wrong_shape', count: 2 },
    { venue: 'polymarket', reason: 'wrong_shape', count: 1 },
  ])
  assert.equal(lines.length, 2)
})

test('a flood is counted whole and written only in part; the file stays within its bound', async () => {
  const clock = manualClock(1_000)
  const log = createLogger({ level: 'silent' })
  const prefix = join(folder, 'b', 'test-')
  const letters = openDeadLetterFile({ prefix, files: letterFilesOnDisk, clock, log, maxBytes: 20_000 })
  for (let minute = 0; minute < 20; minute++) {
    for (let n = 0; n < 1_000; n++) letters.add(letter('kalshi', 'x'.repeat(100)))
    await letters.close()
    clock.advance(60_000)
  }
  assert.deepEqual(letters.counts(), [{ venue: 'kalshi', reason: 'wrong_shape', count: 20_000 }])
  assert.deepEqual(readdirSync(join(folder, 'b')).sort(), ['test-kalshi.ndjson', 'test-kalshi.ndjson.old'])
  for (const name of readdirSync(join(folder, 'b')))
    assert.ok(statSync(join(folder, 'b', name)).size <= 20_000, name)
})

const auditsOf = (differences: number) => ({ sealed: { checked: 10 * differences, differences } })

test('letters and differences of a recording thread are counters of /metrics, across its restarts', async () => {
  const metrics = createMetrics({ defaults: false })
  const [inTest, inLive] = [ingestMetrics(metrics, 'test'), ingestMetrics(metrics, 'live')]
  const message = (count: number, differences: number) => ({
    kind: 'status' as const,
    sources: [
      {
        source: 'cexa',
        detail: { counts: { differences }, audits: auditsOf(differences) },
      } as unknown as SourceStatus & { notice: null },
    ],
    deadLetters: [{ venue: 'kalshi', reason: 'wrong_shape', count }],
  })
  inTest(message(2, 1))
  inTest(message(5, 1))
  inTest(message(1, 3))
  inLive(message(4, 0))
  const text = await metrics.registry.metrics()
  assert.match(
    text,
    /tapeline_dead_letters_total\{environment="test",venue="kalshi",reason="wrong_shape"\} 6\n/,
  )
  assert.match(
    text,
    /tapeline_dead_letters_total\{environment="live",venue="kalshi",reason="wrong_shape"\} 4\n/,
  )
  assert.match(text, /tapeline_ingest_total\{environment="test",source="cexa",kind="differences"\} 3\n/)
  const labels = 'environment="test",source="cexa",check="sealed"'
  assert.ok(text.includes(`tapeline_audit_checked_total{${labels}} 30\n`), text)
  assert.ok(text.includes(`tapeline_audit_differences_total{${labels}} 3\n`), text)
})
