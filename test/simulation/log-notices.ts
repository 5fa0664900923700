/** A store for several processes notifies them that the log has grown: soon, but not always. */
import type { EventStore } from '../../src/store/events.ts'
import type { SimulatedProcess } from './process.ts'
import type { Random } from './random.ts'
import type { VirtualTime } from './virtual-time.ts'

const MAX_NOTICE_MS = 50
/** How often readers also check by themselves. */
const LOST_NOTICES = 0.1

export function createLogNotices(time: VirtualTime, random: Random) {
  const watchers = new Set<{ process: SimulatedProcess; onGrown: (newestSeq: number) => void }>()
  return {
    send(newestSeq: number): void {
      for (const { process, onGrown } of watchers) {
        if (random.chance(LOST_NOTICES)) continue
        time.after(random.int(1, MAX_NOTICE_MS), () => process.reach(() => onGrown(newestSeq)))
      }
    },
    /** The log, with notifications to this process. */
    to: (process: SimulatedProcess, events: EventStore): EventStore => ({
      ...events,
      watch(onGrown) {
        const watcher = { process, onGrown }
        watchers.add(watcher)
        const forget = process.onDeath(() => void watchers.delete(watcher))
        return () => {
          watchers.delete(watcher)
          forget()
        }
      },
    }),
  }
}
