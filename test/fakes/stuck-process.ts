/** Closes a thread that cannot end, prints how long that took, and exits with code 3. */

import { systemClock } from '../../src/kit/clock.ts'
import { exitProcess } from '../../src/kit/exit-process.ts'
import { createLogger } from '../../src/kit/log.ts'
import { superviseThread } from '../../src/kit/supervise-thread.ts'

const isMute = process.argv[2] === 'mute'
/** It is closed after it was found to be stuck. */
const isBlocked = process.argv[2] === 'blocked'
const thread = superviseThread({
  name: 'stuck',
  file: new URL('./stuck-thread.ts', import.meta.url),
  data: { rounds: 200_000_000, isMute, isBlocked },
  ...(isBlocked ? { maxSilenceMs: 500 } : {}),
  clock: systemClock,
  log: createLogger({ level: 'silent' }),
  onMessage: () => void (isBlocked || close()),
})
if (isMute) setTimeout(() => void close(), 1_000)
if (isBlocked) setTimeout(() => void close(), 3_000)

async function close(): Promise<void> {
  const startedMs = performance.now()
  await thread.close()
  process.stdout.write(`${performance.now() - startedMs}\n`, () => exitProcess(3))
}
