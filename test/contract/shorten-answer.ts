/** An answer as the document shows it: the first of each list, which all others are like. */

/** Levels of an order book. */
const MAX_LEVELS = 2
/** Endpoints of a source, parts of the disk. */
const MAX_PARTS = 2
const PARTS = ['endpoints', 'parts']
/** Their amounts add up. */
const WHOLE = ['inputs', 'outputs']

export function shortenAnswer(given: unknown): unknown {
  const answer = JSON.parse(JSON.stringify(given), (name, value: unknown) => {
    if (!Array.isArray(value) || WHOLE.includes(name)) return value
    if (value.every(Array.isArray)) return value.slice(0, MAX_LEVELS)
    if (PARTS.includes(name)) return value.slice(0, MAX_PARTS)
    return value.every((each) => typeof each === 'object') ? value.slice(0, 1) : value
  }) as { data?: unknown[]; meta?: { count?: number; returned?: number } }
  const { data, meta } = answer
  if (!Array.isArray(data) || meta === undefined) return answer
  const counts = { count: data.length, ...(meta.returned === undefined ? {} : { returned: data.length }) }
  return { ...answer, meta: { ...meta, ...counts } }
}
