/** A thread that cannot exit because of system work that cannot be cancelled, such as a DNS lookup. */
import { pbkdf2, pbkdf2Sync } from 'node:crypto'
import { workerData } from 'node:worker_threads'
import { serveCalls } from '../../src/kit/thread-calls.ts'

const { rounds, isMute, isBlocked } = workerData as { rounds: number; isMute: boolean; isBlocked?: boolean }
if (rounds > 0 && isBlocked !== true) pbkdf2('a', 'b', rounds, 64, 'sha512', () => {})
const side = serveCalls({})
if (!isMute) side.post('here')
// Cannot be interrupted, like a read from a disk that does not answer.
if (isBlocked === true) setImmediate(() => pbkdf2Sync('a', 'b', rounds, 64, 'sha512'))
