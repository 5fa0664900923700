import { randomBytes } from 'node:crypto'

/** Unique across processes and restarts: a random prefix and a counter. */
export function requestIds(): () => string {
  const start = BigInt(`0x${randomBytes(8).toString('hex')}`)
    .toString(36)
    .padStart(13, '0')
  let count = 0
  return () => `req_${start}${(count++).toString(36).padStart(5, '0')}`
}
