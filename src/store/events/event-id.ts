/**
 * An event's id consists of the log's random name and the event's number. Two logs never share an id, and an id shows
 * where its event is.
 */
export interface EventIds {
  of(seq: number): string
  seqOf(id: string): number | undefined
  /** The beginning of an event's text; `NewEvent.tail` follows it. */
  headOf(seq: number): string
}

export function eventIds(logId: string): EventIds {
  const prefix = `evt_${logId}`
  const of = (seq: number) => prefix + seq.toString(36).padStart(8, '0')
  return {
    of,
    headOf: (seq) => `{"id":"${of(seq)}","seq":${seq},`,
    seqOf(id) {
      if (!id.startsWith(prefix) || !/^[0-9a-z]{8,11}$/.test(id.slice(prefix.length))) return undefined
      const seq = Number.parseInt(id.slice(prefix.length), 36)
      return Number.isSafeInteger(seq) && of(seq) === id ? seq : undefined
    },
  }
}
