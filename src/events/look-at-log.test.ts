import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { lookAtLog } from './look-at-log.ts'

/** A log that others write to, and a tail that takes what is announced. */
function rig({ notifies }: { notifies: boolean }) {
  const clock = manualClock(0)
  const log = { newestSeq: 0, looks: 0, grown: undefined as ((seq: number) => void) | undefined }
  const tail = {
    seq: 0,
    announce(seq: number) {
      tail.seq = Math.max(tail.seq, seq)
    },
  }
  const events = {
    async bounds() {
      log.looks++
      return { newestSeq: log.newestSeq, oldestSeq: 1, bytes: 0 }
    },
  }
  const watch = (onGrown: (seq: number) => void) => {
    log.grown = onGrown
    return () => {
      log.grown = undefined
    }
  }
  const stop = lookAtLog({
    events: notifies ? { ...events, watch } : events,
    tail,
    clock,
    onError: (error) => assert.fail(String(error)),
  })
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 50) {
      clock.advance(50)
      await turn()
    }
  }
  return { log, tail, stop, pass }
}

test('what another process wrote is announced at its notification, or within a second when that was lost', async () => {
  const { log, tail, stop, pass } = rig({ notifies: true })
  log.newestSeq = 3
  log.grown?.(3)
  assert.equal(tail.seq, 3)
  log.newestSeq = 5
  await pass(1_000)
  assert.equal(tail.seq, 5)
  assert.ok(log.looks <= 2, `${log.looks} looks in a second`)
  stop()
  assert.equal(log.grown, undefined)
  log.newestSeq = 9
  await pass(5_000)
  assert.equal(tail.seq, 5)
})

test('without notifications the log is looked at ten times a second', async () => {
  const { log, tail, stop, pass } = rig({ notifies: false })
  log.newestSeq = 3
  await pass(150)
  assert.equal(tail.seq, 3)
  stop()
})
