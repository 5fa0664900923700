import type { DatabaseSync } from 'node:sqlite'

/**
 * An event's id: the log's own random name and the event's number. Two logs never share an id, and an id tells
 * where its event is.
 */
export function eventIds(database: DatabaseSync) {
  const logId = String(database.prepare(`SELECT value FROM facts WHERE name = 'log_id'`).get()?.value)
  const prefix = `evt_${logId}`
  return {
    of: (seq: number) => prefix + seq.toString(36).padStart(8, '0'),
    seqOf(id: string): number | undefined {
      if (!id.startsWith(prefix) || !/^[0-9a-z]{8,11}$/.test(id.slice(prefix.length))) return undefined
      const seq = Number.parseInt(id.slice(prefix.length), 36)
      return Number.isSafeInteger(seq) && prefix + seq.toString(36).padStart(8, '0') === id ? seq : undefined
    },
  }
}
