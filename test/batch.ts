/**
 * Runs the test files it is given one after the other in this process, each as a suite with the file's path as its
 * name: a file is loaded when the one before it has ended, and its hooks are its own. They may share what takes long
 * to start (`fakes/shared.ts`).
 *
 * node:test follows every promise and timer of the process to know to which test it belongs: a fifth of what a run
 * costs. It is needed while a file declares its tests and hooks, and switched off while they run. An error that no test
 * catches then fails the file instead of the test, so its stack is written here.
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
 * Ends a file that hangs; no guarantee is measured by it. To spread tables over servers takes seconds for each test, and
 * the longest run of a soak is an hour with what comes before and after it.
 */
const { TAPELINE_SOAK, TAPELINE_TEST_DISTRIBUTE } = process.env
const LIMIT_MS = TAPELINE_SOAK === undefined && !TAPELINE_TEST_DISTRIBUTE ? 900_000 : 7_200_000
/** Ends the process when the limit of a file has passed and the loop did not turn to notice it. */
const WATCH = `
  const { parentPort } = require('node:worker_threads')
  const { writeSync } = require('node:fs')
  let timer
  parentPort.on('message', (file) => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      writeSync(2, file + ' holds the event loop\\n')
      process.kill(process.pid, 'SIGKILL')
    }, ${LIMIT_MS} + 5_000)
  })`
const watch = new Worker(WATCH, { eval: true })
watch.unref()
stopSharedAfterAll()

let usedMs = 0
for (const file of process.argv.slice(2)) {
  watch.postMessage(file)
  following?.enable()
  await new Promise<void>((ended) => {
    describe(file, { timeout: LIMIT_MS }, async () => {
      try {
        await import(pathToFileURL(resolve(file)).href)
      } catch (error) {
        ended()
        throw error
      }
      // Registered last, so that it is called when every other hook of the file has been.
      after(() => ended())
      following?.disable()
    })
  })
  const nowMs = processorMs()
  if (process.env.BATCH_COSTS !== undefined)
    appendFileSync(process.env.BATCH_COSTS, `${JSON.stringify({ file, ms: nowMs - usedMs })}\n`)
  usedMs = nowMs
}
