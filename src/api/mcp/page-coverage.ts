import type { EndpointPage, JsonObject } from './read-endpoint.ts'

export function pageCoverage({ facts }: EndpointPage): JsonObject | null {
  return ((facts.meta as JsonObject | undefined)?.coverage as JsonObject | undefined) ?? null
}

/** The coverage of consecutive pages: from the first to the last instant, complete if each part is, with all gaps. */
export function joinCoverage(parts: readonly (JsonObject | null)[]): JsonObject | null {
  const known = parts.filter((part) => part !== null)
  if (known.length === 0) return null
  const joined: JsonObject = {}
  for (const name of new Set(known.flatMap((part) => Object.keys(part)))) {
    const values = known.map((part) => part[name]).filter((value) => value !== null && value !== undefined)
    joined[name] = joinedValue(name, values)
  }
  return joined
}

function joinedValue(name: string, values: readonly unknown[]): unknown {
  if (values.every((value) => typeof value === 'boolean')) return values.every((value) => value)
  if (values.every((value) => Array.isArray(value))) {
    const texts = new Set(values.flatMap((list) => list.map((item: unknown) => JSON.stringify(item))))
    return [...texts].map((text) => JSON.parse(text) as unknown)
  }
  const sorted = values.toSorted()
  return (name === 'to' ? sorted.at(-1) : sorted[0]) ?? null
}
