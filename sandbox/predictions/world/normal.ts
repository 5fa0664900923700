/** The normal distribution function to 2.5e-4, from sums and products only: the same bits on every machine. */
export function normalBelow(x: number): number {
  const t = x < 0 ? -x : x
  const s = 1 + t * (0.196854 + t * (0.115194 + t * (0.000344 + t * 0.019527)))
  const square = s * s
  const tail = 0.5 / (square * square)
  return x < 0 ? tail : 1 - tail
}
