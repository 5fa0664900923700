/** How states and directions are stored: as the number of their place in these lists. */
export const PENDING = 0
export const CONFIRMED = 1
export const DROPPED = 2
const STATUSES = ['pending', 'confirmed', 'dropped'] as const
export const DIRECTIONS = ['receive', 'send', 'self', 'spent'] as const

export function statusOf(code: unknown): (typeof STATUSES)[number] {
  return STATUSES[Number(code)] ?? 'pending'
}

export function directionOf(code: unknown): (typeof DIRECTIONS)[number] {
  return DIRECTIONS[Number(code)] ?? 'receive'
}
