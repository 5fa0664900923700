import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { fixedRandom } from '../../../test/ingest/audited-store.ts'
import { createLogger } from '../../kit/log.ts'
import { candleFeed } from '../shared/feeds.ts'
import { AUDIT_EVERY_MS, type AuditCheck, type AuditDifference, createAudit, sumAudits } from './audit.ts'
import { createSuspicions } from './suspicions.ts'

const HOUR_MS = 3_600_000

function start(checks: readonly AuditCheck[]) {
  const clock = manualClock(0)
  const lines: Record<string, unknown>[] = []
  const log = createLogger({ level: 'info', write: (line) => void lines.push(JSON.parse(line)) })
  const audit = createAudit({ source: 'cexa', clock, log, random: fixedRandom(1) })
  const stop = new AbortController()
  const done = audit.run(checks, stop.signal)
  return {
    ...{ audit, lines, clock, done, stop },
    async pass(ms: number) {
      for (let at = 0; at < ms; at += 1_000) {
        clock.advance(1_000)
        await turn()
      }
    },
  }
}

const check = (
  kind: AuditCheck['kind'],
  run: AuditCheck['run'],
  more: Partial<AuditCheck> = {},
): AuditCheck => ({ kind, weight: 1, run, ...more })

test('one check in every 30 to 60 seconds, a failing one included, until the signal', async () => {
  let runs = 0
  let fruitless = 0
  const {
    audit,
    pass,
    stop,
    done: ended,
    clock,
    lines,
  } = start([
    check('sealed', async () => {
      runs += 1
      return []
    }),
    check('venue', async () => {
      runs += 1
      throw new Error('the venue does not answer')
    }),
    check('coverage', async () => {
      runs += 1
      fruitless += 1
      return null
    }),
  ])
  await pass(HOUR_MS)
  const { sealed, venue, coverage } = audit.counts()
  const done = runs - fruitless
  assert.ok(done >= HOUR_MS / AUDIT_EVERY_MS.most - 1 && done <= HOUR_MS / AUDIT_EVERY_MS.least, String(done))
  assert.ok(sealed.checked > 10)
  assert.ok(fruitless > 5, 'another one takes the place of one that has nothing to examine')
  assert.equal(venue.checked + coverage.checked, 0, 'what proves nothing is not counted')
  assert.deepEqual(lines, [])
  stop.abort()
  await ended
  assert.equal(clock.sleepers, 0)
})

test('a difference is counted and logged with its feed and its time', async () => {
  const feed = candleFeed('cexa', 'BTC', '1m')
  let found: AuditDifference[] = [
    { what: 'a row changed', action: 'gap', feed, fromMs: HOUR_MS, toMs: HOUR_MS + 60_000 },
  ]
  const { audit, pass, stop, done, lines } = start([
    check('sealed', async () => {
      const now = found
      found = []
      return now
    }),
  ])
  await pass(10 * 60_000)
  stop.abort()
  await done
  const { checked, differences } = sumAudits(audit.counts())
  assert.ok(checked >= 9)
  assert.equal(differences, 1)
  assert.equal(lines.length, 1)
  const { source, check: kind, action, feed: name, from, to, msg } = lines[0] ?? {}
  assert.deepEqual(
    { source, kind, action, name, from, to, msg },
    {
      ...{ source: 'cexa', kind: 'sealed', action: 'gap', name: 'candles/cexa/BTC/1m' },
      ...{ from: '1970-01-01T01:00:00.000Z', to: '1970-01-01T01:01:00.000Z' },
      msg: 'a self-check found a difference: a row changed',
    },
  )
})

test('what is due goes first', async () => {
  const order: string[] = []
  const note = (name: string) => async () => {
    order.push(name)
    return []
  }
  const { pass, stop, done } = start([
    check('sealed', note('random'), { weight: 1_000 }),
    check('venue', note('due'), { weight: 0, isDue: (nowMs) => nowMs > 300_000 }),
  ])
  await pass(600_000)
  stop.abort()
  await done
  assert.deepEqual(order, order.toSorted().reverse())
  assert.ok(order.includes('random') && order.includes('due'))
})

test('only what two answers say in the same way is corrected; a venue that stays silent leads to a gap', async () => {
  const clock = manualClock(0)
  const suspicions = createSuspicions(clock)
  const corrected: AuditDifference = { what: 'corrected', action: 'corrected' }
  const wrong = (key: string, truth: string) => ({ key, truth, correct: () => corrected })
  const answers = [
    [wrong('a', '1'), wrong('b', '1')],
    [wrong('a', '1'), wrong('b', '2'), wrong('c', '1')],
  ]
  suspicions.add({ key: 'twice', judge: async () => answers.shift() ?? [] })
  assert.equal(await suspicions.resolve(), null)
  assert.equal(suspicions.isDue(clock.now()), false, 'the second answer comes a while later')
  clock.advance(60_000)
  assert.deepEqual(await suspicions.resolve(), [corrected])
  assert.equal(suspicions.size, 0)

  const gap: AuditDifference = { what: 'gap', action: 'gap' }
  suspicions.add({
    key: 'silent',
    judge: () => Promise.reject(new Error('no answer')),
    giveUp: () => [gap],
  })
  for (let attempt = 0; attempt < 4; attempt++) {
    await assert.rejects(suspicions.resolve())
    clock.advance(60_000)
  }
  assert.deepEqual(await suspicions.resolve(), [gap])
  assert.equal(suspicions.size, 0)
})
