import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Returns what loading and first work took to the system: V8 keeps that room until a full collection, which a process
 * at rest never makes (some 35 MB). Holds the thread for tens of milliseconds, so it is for the end of a start.
 */
export function releaseMemory(): void {
  setFlagsFromString('--expose-gc')
  const collect: (how: object) => void = runInNewContext('gc')
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
