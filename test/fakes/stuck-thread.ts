/** A thread whose end the system holds up, as the look-up of a name does: work that cannot be called off. */
import { pbkdf2 } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { CLOSED } from '../../src/kit/supervise-thread.ts'

const { rounds, isMute } = workerData as { rounds: number; isMute: boolean }
if (rounds > 0) pbkdf2('a', 'b', rounds, 64, 'sha512', () => {})
if (!isMute) parentPort?.postMessage('here')
parentPort?.on('message', () => {
  parentPort?.postMessage(CLOSED)
  parentPort?.close()
})
