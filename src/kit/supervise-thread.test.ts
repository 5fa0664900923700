/** Stopping does not wait for what cannot be cancelled, such as a DNS lookup without an answer. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { until } from '../../test/until.ts'
import { systemClock } from './clock.ts'
import { createLogger } from './log.ts'
import { superviseThread } from './supervise-thread.ts'

/**
 * Less than the time that `close` gives a thread to end. The looser limit is for machines that run many tests at once.
 */
const AT_ONCE_MS = process.env.TAPELINE_SOAK === undefined ? 6_000 : 2_000
const FAKES = join(import.meta.dirname, '..', '..', 'test', 'fakes')

for (const kind of ['speaking', 'mute', 'blocked'])
  test(`a ${kind} thread that cannot end is closed at once, and its process leaves with its exit code`, () => {
    const startedMs = performance.now()
    const { status, stdout } = spawnSync(process.execPath, [join(FAKES, 'stuck-process.ts'), kind], {
      encoding: 'utf8',
      timeout: 60_000,
    })
    assert.equal(status, 3)
    assert.ok(Number(stdout) < AT_ONCE_MS, `closed after ${stdout} ms`)
    assert.ok(performance.now() - startedMs < 30_000)
  })

test('a thread that can end has ended when it is closed', async () => {
  let ends = 0
  const thread = await new Promise<ReturnType<typeof superviseThread>>((resolve) => {
    const kept = superviseThread({
      name: 'well',
      file: new URL(`file://${join(FAKES, 'stuck-thread.ts')}`),
      data: { rounds: 0, isMute: false },
      clock: systemClock,
      log: createLogger({ level: 'silent' }),
      onMessage: () => resolve(kept),
      onEnd: () => {
        ends++
      },
    })
  })
  await thread.close()
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal(ends, 1)
})

test('a thread that is stuck is ended and started again', async () => {
  let posts = 0
  const reasons: (Error | undefined)[] = []
  const thread = superviseThread({
    name: 'posting',
    file: new URL('../../test/fakes/posting-thread.ts', import.meta.url),
    data: { runs: new SharedArrayBuffer(4) },
    maxSilenceMs: 2_000,
    clock: systemClock,
    log: createLogger({ level: 'silent' }),
    onMessage: () => {
      posts++
    },
    onEnd: (reason) => void reasons.push(reason),
  })
  await until('the next thread posts', () => posts > 1)
  assert.match(reasons[0]?.message ?? '', /posted nothing/)
  await thread.close()
})
