import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Returns the memory that loading and the first work took to the system (some 35 MB). V8 keeps it until a full
 * collection, which an idle process never makes. Blocks the thread for tens of milliseconds, so it is called at the end
 * of a start.
 */
export function releaseMemory(): void {
  setFlagsFromString('--expose-gc')
  const collect: (how: object) => void = runInNewContext('gc')
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
