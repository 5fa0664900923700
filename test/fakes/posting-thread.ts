/** A thread that posts all the time. When it runs for the first time it posts once and then blocks for ever. */
import { workerData } from 'node:worker_threads'
import { serveCalls } from '../../src/kit/thread-calls.ts'

const EVERY_MS = 20

const runs = new Int32Array((workerData as { runs: SharedArrayBuffer }).runs)
const isFirst = Atomics.add(runs, 0, 1) === 0
const side = serveCalls({}, { close: () => clearInterval(timer) })
const timer = setInterval(() => {
  side.post('here')
  if (isFirst) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}, EVERY_MS)
