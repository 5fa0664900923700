/** States and directions are stored as their index in these lists. */
export const PENDING = 0
export const CONFIRMED = 1
export const DROPPED = 2
const STATUSES = ['pending', 'confirmed', 'dropped'] as const
export const DIRECTIONS = ['receive', 'send', 'self'] as const
/** Written by builds that had a separate direction for a loss which no key of the address is shown to have signed. */
const UNSIGNED_SEND = 3

export function statusOf(code: unknown): (typeof STATUSES)[number] {
  return STATUSES[Number(code)] ?? 'pending'
}

export function directionOf(code: unknown): (typeof DIRECTIONS)[number] {
  return Number(code) === UNSIGNED_SEND ? 'send' : (DIRECTIONS[Number(code)] ?? 'receive')
}
