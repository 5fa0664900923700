/** Closes a thread that cannot end, prints how long that took, and exits with code 3. */

import { systemClock } from '../../src/kit/clock.ts'
import { exitProcess } from '../../src/kit/exit-process.ts'
import { createLogger } from '../../src/kit/log.ts'
import { superviseThread } from '../../src/kit/supervise-thread.ts'

const isMute = process.argv[2] === 'mute'
const thread = superviseThread({
  name: 'stuck',
  file: new URL('./stuck-thread.ts', import.meta.url),
  data: { rounds: 200_000_000, isMute },
  clock: systemClock,
  log: createLogger({ level: 'silent' }),
  onMessage: () => void close(),
})
if (isMute) setTimeout(() => void close(), 1_000)

async function close(): Promise<void> {
  const startedMs = performance.now()
  await thread.close()
  process.stdout.write(`${performance.now() - startedMs}\n`, () => exitProcess(3))
}
