/** The UTC months by which tables are partitioned: `series_candles_y2026m11`. */

export interface Month {
  /** The end of a partition's name. */
  readonly suffix: string
  /** Its rows have times from `low` on and before `high`. */
  readonly low: number
  readonly high: number
}

export function monthOf(timeMs: number): Month {
  const date = new Date(timeMs)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return {
    suffix: `y${year}m${String(month + 1).padStart(2, '0')}`,
    low: Date.UTC(year, month),
    high: Date.UTC(year, month + 1),
  }
}

/** The month of a time and the months after it, `count` in total. */
export function monthsFrom(timeMs: number, count: number): Month[] {
  const months = [monthOf(timeMs)]
  while (months.length < count) months.push(monthOf(months.at(-1)?.high ?? timeMs))
  return months
}

/** Undefined if the name is not that of a monthly partition. */
export function monthOfName(name: string): Month | undefined {
  const [, year, month] = /_y(\d{4})m(\d\d)$/.exec(name) ?? []
  return year === undefined ? undefined : monthOf(Date.UTC(Number(year), Number(month) - 1))
}
