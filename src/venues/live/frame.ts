/** The result of reading one frame. Readers change nothing but their own state; the session acts on the outcome. */
import type { DeadLetterReason } from '../dead-letter.ts'
import type { DataObservation } from '../observation.ts'

export type FrameOutcome =
  | DataFrame
  /** The venue accepted these channels. */
  | { readonly kind: 'accepted'; readonly channels: readonly string[] }
  | { readonly kind: 'pong' }
  /** The venue announced that it will close this socket. */
  | { readonly kind: 'leaving' }
  /** Understood but not recorded, for example a contract of another product or a symbol that we do not record. */
  | { readonly kind: 'ignored'; readonly reason: string }
  | { readonly kind: 'refused'; readonly reason: DeadLetterReason }

export interface DataFrame {
  readonly kind: 'data'
  readonly items: readonly FrameItem[]
  /** Set when part of the frame could not be read. */
  readonly refused?: DeadLetterReason
}

export interface FrameItem {
  /** Key of the channel that the observation belongs to. */
  readonly channel: string
  readonly observation: DataObservation
}

/**
 * Whether a message received at `receivedMs` can have this time. `isChange`: sent as it happens, so it cannot be old.
 */
export type TimeCheck = (timeMs: number, receivedMs: number, isChange?: boolean) => boolean

/** How a venue's frames are read, and what the venue expects from a connected client. */
export interface FrameProtocol {
  /**
   * A reader with state refuses a time that fails `isTime` before it changes anything; without `isTime` it accepts any
   * time.
   */
  read(text: string, receivedMs: number, isTime?: TimeCheck): FrameOutcome
  /** Whether the venue confirms every channel separately. */
  readonly accepts: boolean
  /** Pings that the venue expects from the client; the socket answers the venue's protocol pings itself. */
  readonly heartbeat: {
    readonly everyMs: number
    readonly frame: string
    /** Null where the venue does not answer pings. */
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

/** Returns undefined for anything that is not a JSON object. */
export function parseObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
