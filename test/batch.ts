/**
 * Runs the given test files one after the other in this process, each as a suite named after the file's path: a file is
 * loaded when the one before it has ended, and has its own hooks. Files may share what takes long to start
 * (`fakes/shared.ts`).
 *
 * node:test tracks every promise and timer of the process to know which test it belongs to: a fifth of the cost
 * of a run. This is needed while a file declares its tests and hooks, and switched off while they run. An error that no
 * test catches then fails the file instead of the test, so its stack is printed here.
 */
import type { AsyncHook } from 'node:async_hooks'
import { appendFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import { Worker } from 'node:worker_threads'

const nice = Number(process.env.BATCH_NICE ?? 0)
if (nice > 0) setPriority(Math.min(19, getPriority() + nice))

let following: AsyncHook | undefined
const asyncHooks = process.getBuiltinModule('node:async_hooks')
const { createHook } = asyncHooks
asyncHooks.createHook = (callbacks) => {
  following = createHook(callbacks)
  return following
}
const { after, describe } = await import('node:test')
asyncHooks.createHook = createHook
const { processorMs } = await import('./processor-time.ts')
const { stopSharedAfterAll } = await import('./fakes/shared.ts')
process.on('uncaughtExceptionMonitor', (error) => process.stderr.write(`${inspect(error)}\n`))
process.on('unhandledRejection', (reason) => process.stderr.write(`${inspect(reason)}\n`))

/**
 * Ends a file that hangs; it does not measure any guarantee. Spreading tables over servers takes seconds for each test,
 * and the longest soak test runs for an hour plus its preparation and clean-up.
 */
const { TAPELINE_SOAK, TAPELINE_TEST_DISTRIBUTE } = process.env
const LIMIT_MS = TAPELINE_SOAK === undefined && !TAPELINE_TEST_DISTRIBUTE ? 300_000 : 7_200_000
/**
 * Ends the process if a file has not ended by itself after its time limit: node:test does not call the hooks of a suite
 * that waits for a promise that never settles, and a blocked event loop does not notice the limit. Asks the main thread
 * first, because its answer tells one from the other.
 */
const WATCH = `
  const { parentPort } = require('node:worker_threads')
  const { writeSync } = require('node:fs')
  let timer
  const end = (reason) => {
    writeSync(2, reason + '\\n')
    process.kill(process.pid, 'SIGKILL')
  }
  parentPort.on('message', ({ file, isAnswer }) => {
    if (isAnswer) end(file + ' does not end')
    clearTimeout(timer)
    timer = setTimeout(() => {
      parentPort.postMessage(file)
      setTimeout(() => end(file + ' holds the event loop'), 5_000)
    }, ${LIMIT_MS} + 5_000)
  })`
const watch = new Worker(WATCH, { eval: true })
watch.on('message', (file) => watch.postMessage({ file, isAnswer: true }))
watch.unref()
stopSharedAfterAll()

let usedMs = 0
for (const file of process.argv.slice(2)) {
  watch.postMessage({ file, isAnswer: false })
  following?.enable()
  await new Promise<void>((ended) => {
    describe(file, { timeout: LIMIT_MS }, async () => {
      try {
        await import(pathToFileURL(resolve(file)).href)
      } catch (error) {
        ended()
        throw error
      }
      // Registered last, so that it is called after every other hook of the file.
      after(() => ended())
      following?.disable()
    })
  })
  const nowMs = processorMs()
  if (process.env.BATCH_COSTS !== undefined)
    appendFileSync(process.env.BATCH_COSTS, `${JSON.stringify({ file, ms: nowMs - usedMs })}\n`)
  usedMs = nowMs
}
