/**
 * Limits the memory of bodies that are still arriving. Their senders need no key, and may hold back the last byte until
 * the request times out. Therefore all bodies together have a limit, and one address gets a quarter of it. A proxy
 * represents many addresses, so only the common limit applies to it.
 */
import { ApiError } from '../../core/errors.ts'
import { ActiveCounts } from '../../kit/active-counts.ts'
import { addressGroup } from '../../kit/ip-range.ts'

/** The memory of one body. */
export interface BodyRoom {
  /** Throws if there is no room for this many bytes. */
  grow(bytes: number): void
  /** The body has been collected or abandoned. */
  leave(): void
}

export interface BodyMemory {
  roomFor(address: string): BodyRoom
}

const MAX_BYTES = 256 * 1024 * 1024
const SHARE_OF_ADDRESS = 4
const RETRY_SECONDS = 5

export function createBodyMemory(options: {
  readonly bodyLimitBytes: number
  readonly isProxy: (address: string) => boolean
  readonly maxBytes?: number
}): BodyMemory {
  // One body always fits.
  const max = Math.max(options.maxBytes ?? MAX_BYTES, options.bodyLimitBytes * SHARE_OF_ADDRESS)
  const maxOfAddress = max / SHARE_OF_ADDRESS
  const ofAddress = new ActiveCounts<string>()
  let all = 0
  return {
    roomFor(address) {
      const group = options.isProxy(address) ? undefined : addressGroup(address)
      let held = 0
      let release = () => {}
      const leave = () => {
        release()
        all -= held
        held = 0
      }
      return {
        grow(bytes) {
          const others = group === undefined ? 0 : ofAddress.of(group) - held
          if (others + bytes > maxOfAddress && group !== undefined) throw refusal('of this address ')
          if (all - held + bytes > max) throw refusal('')
          leave()
          held = bytes
          all += bytes
          if (group !== undefined) release = ofAddress.add(group, bytes)
        },
        leave,
      }
    },
  }
}

function refusal(whose: string): ApiError {
  const text = `So many bodies ${whose}are arriving at once that there is no memory for another one. Try again in some seconds.`
  return new ApiError('environment_unavailable', text, { reason: 'bodies', retry_after: RETRY_SECONDS }, [
    ['Retry-After', String(RETRY_SECONDS)],
  ])
}
