/** Rows of one address as the first release stored them: transaction number, status, block time, accepting blue score. */
export const OLD_ROWS: readonly (readonly [number, number, number | null, number | null])[] = [
  [1, 1, 100, 7],
  [2, 1, 300, 6],
  [3, 0, null, null],
  [4, 1, 300, 6],
  [5, 2, null, null],
  [6, 1, 200, 8],
  [7, 0, null, null],
]

/** Pending ones come first; the dropped one is at 150, when it was first seen. */
export const OLD_ROWS_IN_ORDER = [7, 3, 4, 2, 6, 5, 1]
