/**
 * Copies a store and ends itself by SIGKILL when this share of the work is done, or a little later: in the middle of
 * what it does then, and on a slow machine at the same place. `copy-process.ts <share> <delay in ms> <from> <to>`
 */
import { systemClock } from '../../src/kit/clock.ts'
import { copyStore, openCopy, parseStoreAddress } from '../../src/store/open-stores.ts'

const [share, delayMs, from = '', to = ''] = process.argv.slice(2)
const sides = await openCopy(parseStoreAddress(from), parseStoreAddress(to), systemClock)
const kill = () => process.kill(process.pid, 'SIGKILL')
await copyStore({
  ...sides,
  onProgress({ step, done, total }) {
    if ((step === 'copy' ? done : total + done) / (2 * total) < Number(share)) return
    if (delayMs === '0') kill()
    else setTimeout(kill, Number(delayMs))
  },
  copySecrets: async () => {},
})
