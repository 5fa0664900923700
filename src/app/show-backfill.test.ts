/** The first backfill can be followed: with a progress bar on a terminal, and with log lines elsewhere. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { createLogger } from '../kit/log.ts'
import type { RecordMessage } from './record-worker.ts'
import { showBackfill } from './show-backfill.ts'

const message = (done: number, isFinished = false) => {
  const backfill = { total: 100, done, failed: 0, step: 'candles 1m', isFinished }
  const sources = [
    { source: 'cexa', detail: { backfill } },
    { source: 'oracle', detail: { backfill: null } },
  ]
  return { sources } as unknown as RecordMessage
}

function started(isTTY: boolean) {
  const lines: string[] = []
  const written: string[] = []
  const clock = manualClock(0)
  const log = createLogger({ level: 'info', write: (line) => void lines.push(line) })
  const terminal = { isTTY, write: (text: string) => void written.push(text) }
  return { lines, written, clock, show: showBackfill({ environment: 'test', clock, log, terminal }) }
}

test('without a terminal: a line at each tenth, not more often than every five seconds, and one at the end', () => {
  const { lines, written, clock, show } = started(false)
  for (let done = 0; done <= 99; done++) {
    show(message(done))
    clock.advance(1_000)
  }
  show(message(100, true))
  show(message(100, true))
  const logged = lines.map((line) => JSON.parse(line))
  assert.deepEqual(
    logged.map(({ msg, percent }) => percent ?? msg),
    [10, 20, 30, 40, 50, 60, 70, 80, 90, 'the past is filled'],
  )
  assert.deepEqual(logged[0].steps, ['cexa candles 1m'])
  assert.deepEqual(written, [])
})

test('on a terminal: a progress bar that ends with its line, and no log lines in between', () => {
  const { lines, written, show } = started(true)
  show(message(50))
  show(message(100, true))
  assert.match(written[0] ?? '', /^\r\[#{15}\.{15}\] {2}50 % {2}test: filling the past \(cexa candles 1m\)/)
  assert.match(written.at(-2) ?? '', /100 %/)
  assert.equal(written.at(-1), '\n')
  assert.equal(lines.length, 1)
})

test('a start with nothing to backfill logs nothing', () => {
  const { lines, written, show } = started(false)
  const nothing = message(0, true)
  const sources = nothing.sources.map((each) => ({
    ...each,
    detail: { ...each.detail, backfill: each.detail.backfill && { ...each.detail.backfill, total: 0 } },
  }))
  show({ sources })
  assert.deepEqual([lines, written], [[], []])
})
