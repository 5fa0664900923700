import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditLimits, type RunningParts } from './check-limits.ts'

const NORMAL: RunningParts = { runs: 1, channels: 4, sockets: 2, routes: 1, watchLoops: 0 }

test('what stays too many is reported, what passes is not', async () => {
  let running = NORMAL
  const check = auditLimits({ venue: {}, running: () => running })
  assert.deepEqual(await check.run(), [])
  running = { ...NORMAL, sockets: 4 }
  assert.deepEqual(await check.run(), [], 'sockets that are about to close')
  running = NORMAL
  assert.deepEqual(await check.run(), [])
  running = { ...NORMAL, sockets: 4, watchLoops: 5, runs: 2 }
  await check.run()
  assert.deepEqual(
    (await check.run())?.map(({ what }) => what),
    ['more than 1 runs of the recorder', 'more than 3 sockets', 'more than 4 loops that watch silence'],
  )
})

test('each overrun of a budget is reported once', async () => {
  let overruns = 0
  const sentWeight = () => [{ pool: 'weight', limit: 100, sent: 0, overruns }]
  const check = auditLimits({ venue: { sentWeight }, running: () => NORMAL })
  assert.deepEqual(await check.run(), [])
  overruns = 1
  assert.equal((await check.run())?.length, 1)
  assert.deepEqual(await check.run(), [])
})
