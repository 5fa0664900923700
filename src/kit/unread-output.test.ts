import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'

const MODULE = new URL('./unread-output.ts', import.meta.url).href
/** Together far more than fits into a pipe and into the memory limit for waiting lines. */
const LINES = 64
const LINE_BYTES = 100_000

/** Writes lines from a thread and from the main thread, and ends once none of them is waiting. */
const PROGRAM = `
  import { dropUnread } from ${JSON.stringify(MODULE)}
  import { once } from 'node:events'
  import { Worker } from 'node:worker_threads'
  dropUnread(process.stdout, (reason) => process.stderr.write('lost: ' + reason + '\\n'))
  await once(process.stdin, 'data')
  const line = 'x'.repeat(${LINE_BYTES}) + '\\n'
  const worker = new Worker(
    \`import { parentPort, workerData } from 'node:worker_threads'
    const written = () => new Promise((resolve) => process.stdout.write(workerData, resolve))
    const all = async () => {
      for (let n = 0; n < ${LINES}; n++) await written()
    }
    all().then(() => parentPort.postMessage('written'))\`,
    { eval: true, workerData: line },
  )
  for (let n = 0; n < ${LINES}; n++) process.stdout.write(line)
  await once(worker, 'message')
  process.stderr.write('waiting: ' + process.stdout.writableLength + '\\n')
  process.exit(0)
`

for (const [what, isGone, reason] of [
  ['is gone', true, /^lost: .*EPIPE/],
  ['hangs', false, /^lost: \d+ bytes wait/],
] as const) {
  test(`output whose reader ${what}: lines of all threads are dropped, told once, and none piles up`, async () => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], { stdio: 'pipe' })
    if (isGone) child.stdout.destroy()
    child.stdin.end('start')
    let told = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      told += text
    })
    const [code] = await new Promise<unknown[]>((resolve) => child.once('exit', (...end) => resolve(end)))
    assert.equal(code, 0, told)
    assert.match(told, reason)
    assert.equal(told.split('lost:').length, 2, told)
    const waiting = Number(/waiting: (\d+)/.exec(told)?.[1])
    assert.ok(waiting <= 2 * 2 ** 20, `${waiting} bytes wait`)
  })
}
