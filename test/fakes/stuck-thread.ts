/** A thread that cannot exit because of system work that cannot be cancelled, such as a DNS lookup. */
import { pbkdf2 } from 'node:crypto'
import { workerData } from 'node:worker_threads'
import { serveCalls } from '../../src/kit/thread-calls.ts'

const { rounds, isMute } = workerData as { rounds: number; isMute: boolean }
if (rounds > 0) pbkdf2('a', 'b', rounds, 64, 'sha512', () => {})
const side = serveCalls({})
if (!isMute) side.post('here')
