/** What one frame of a feed turned out to be. Readers change nothing outside; the session acts on the outcome. */
import type { DeadLetterReason } from '../dead-letter.ts'
import type { DataObservation } from '../observation.ts'

export type FrameOutcome =
  | DataFrame
  /** The venue accepted these channels. */
  | { readonly kind: 'accepted'; readonly channels: readonly string[] }
  | { readonly kind: 'pong' }
  /** The venue announced that it will close this socket. */
  | { readonly kind: 'leaving' }
  /** Understood, and not for us: another product's contract, a symbol that is not recorded. */
  | { readonly kind: 'ignored'; readonly reason: string }
  | { readonly kind: 'refused'; readonly reason: DeadLetterReason }

export interface DataFrame {
  readonly kind: 'data'
  readonly items: readonly FrameItem[]
  /** Part of the frame could not be read. */
  readonly refused?: DeadLetterReason
}

export interface FrameItem {
  /** Key of the channel it belongs to. */
  readonly channel: string
  readonly observation: DataObservation
}

/** Whether a message received at an instant can be of that time. `isChange`: it is sent as it happens, so it cannot be old. */
export type TimeCheck = (timeMs: number, receivedMs: number, isChange?: boolean) => boolean

/** How a venue's frames are read, and what the venue expects of a connected client. */
export interface FrameProtocol {
  /** A reader with a state refuses a time that fails the check before it changes anything; left out: any time is taken. */
  read(text: string, receivedMs: number, isTime?: TimeCheck): FrameOutcome
  /** Whether every channel gets an acceptance of its own. */
  readonly accepts: boolean
  /** Pings that the venue expects from us; protocol pings are answered by the socket itself. */
  readonly heartbeat: {
    readonly everyMs: number
    readonly frame: string
    /** Null where the venue does not answer. */
    readonly answerWithinMs: number | null
  } | null
  /** Pause between subscription frames. */
  readonly greetingPaceMs: number
}

export const ignored = (reason: string): FrameOutcome => ({ kind: 'ignored', reason })
export const refused = (reason: DeadLetterReason): FrameOutcome => ({ kind: 'refused', reason })
export const data = (channel: string, observation: DataObservation): FrameOutcome => ({
  kind: 'data',
  items: [{ channel, observation }],
})

/** Undefined for anything that is not a JSON object. */
export function parseObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
