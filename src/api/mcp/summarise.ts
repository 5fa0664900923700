import type { JsonObject } from './read-endpoint.ts'
import { type RowTable, tableOf } from './shape-answer.ts'

/** Summarises rows per series and time bucket: first, last, minimum, maximum and mean of every number in them. */
export function summarise(
  rows: readonly JsonObject[],
  options: {
    readonly buckets: number
    readonly identity: readonly string[]
    readonly fields?: readonly string[]
  },
): RowTable & { readonly bucket_seconds: number; readonly series: number } {
  const times = rows.map((row) => Date.parse(String(row.timestamp)))
  const from = times.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY)
  const to = times.reduce((most, time) => Math.max(most, time), Number.NEGATIVE_INFINITY)
  const widthMs = Math.max(1, Math.ceil((to - from) / options.buckets))
  const groups = new Map<string, { key: JsonObject; atMs: number; rows: JsonObject[] }>()
  const seen = new Set<string>()
  rows.forEach((row, index) => {
    const key = Object.fromEntries(
      options.identity.flatMap((name) => (row[name] == null ? [] : [[name, row[name]]])),
    )
    const series = JSON.stringify(key)
    seen.add(series)
    const step = Math.floor(((times[index] ?? from) - from) / widthMs)
    // The newest row belongs to the last bucket.
    const atMs = from + Math.min(step, options.buckets - 1) * widthMs
    const name = `${String(atMs).padStart(15)} ${series}`
    const group = groups.get(name) ?? { key, atMs, rows: [] }
    group.rows.push(row)
    groups.set(name, group)
  })
  const summaries = [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, group]) => ({
      from: new Date(group.atMs).toISOString(),
      ...group.key,
      rows: group.rows.length,
      ...numbersOf(inTimeOrder(group.rows), options),
    }))
  return { bucket_seconds: widthMs / 1000, series: seen.size, ...tableOf(summaries) }
}

function inTimeOrder(rows: readonly JsonObject[]): readonly JsonObject[] {
  return rows.toSorted((a, b) => Date.parse(String(a.timestamp)) - Date.parse(String(b.timestamp)))
}

function numbersOf(
  rows: readonly JsonObject[],
  { fields }: { readonly fields?: readonly string[] },
): JsonObject {
  const names = new Set(
    rows.flatMap((row) => Object.keys(row).filter((name) => typeof row[name] === 'number')),
  )
  const result: JsonObject = {}
  for (const name of names) {
    if (fields !== undefined && !fields.includes(name)) continue
    const values = rows.flatMap((row) => (typeof row[name] === 'number' ? [row[name]] : []))
    result[`${name}.first`] = values[0]
    result[`${name}.last`] = values.at(-1)
    result[`${name}.min`] = values.reduce((least, value) => Math.min(least, value))
    result[`${name}.max`] = values.reduce((most, value) => Math.max(most, value))
    const sum = values.reduce((total, value) => total + value, 0)
    result[`${name}.mean`] = Number((sum / values.length).toPrecision(8))
  }
  return result
}
