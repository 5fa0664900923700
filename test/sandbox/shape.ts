/**
 * Compares the shape of JSON values: the same keys and the same JSON types, whatever the values.
 *
 *   object  same keys, each of the same shape
 *   tuple   (an array of mixed types) same length, position by position
 *   list    (an array of one type) every expected element has an element of its shape
 */
export interface ShapeRules {
  /** Keys that may be there although the expected value lacks them, and the other way round. */
  readonly mayAdd?: readonly string[]
  readonly mayLack?: readonly string[]
}

/** What differs, as readable paths; empty when the shapes agree. */
export function shapeDifferences(
  expected: unknown,
  actual: unknown,
  rules: ShapeRules = {},
  path = '$',
): string[] {
  const [want, got] = [typeOf(expected), typeOf(actual)]
  if (want !== got) return [`${path}: ${want} expected, ${got} found`]
  if (Array.isArray(expected) && Array.isArray(actual)) return arrayDifferences(expected, actual, rules, path)
  if (want !== 'object') return []
  return objectDifferences(
    expected as Record<string, unknown>,
    actual as Record<string, unknown>,
    rules,
    path,
  )
}

function objectDifferences(
  expected: Record<string, unknown>,
  actual: Record<string, unknown>,
  rules: ShapeRules,
  path: string,
): string[] {
  const found: string[] = []
  for (const key of Object.keys(expected)) {
    if (key in actual) found.push(...shapeDifferences(expected[key], actual[key], rules, `${path}.${key}`))
    else if (!rules.mayLack?.includes(key)) found.push(`${path}.${key}: missing`)
  }
  for (const key of Object.keys(actual))
    if (!(key in expected) && !rules.mayAdd?.includes(key)) found.push(`${path}.${key}: not expected`)
  return found
}

function arrayDifferences(expected: unknown[], actual: unknown[], rules: ShapeRules, path: string): string[] {
  if (isTuple(expected)) {
    if (expected.length !== actual.length)
      return [`${path}: ${expected.length} elements expected, ${actual.length} found`]
    return expected.flatMap((element, i) => shapeDifferences(element, actual[i], rules, `${path}[${i}]`))
  }
  return expected.flatMap((element, i) => {
    const attempts = actual.map((candidate) => shapeDifferences(element, candidate, rules, `${path}[${i}]`))
    if (attempts.some((differences) => differences.length === 0)) return []
    return attempts.sort((a, b) => a.length - b.length)[0] ?? [`${path}: empty, but elements expected`]
  })
}

function isTuple(values: unknown[]): boolean {
  return new Set(values.map(typeOf)).size > 1
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

/** Equal for values of the same shape: to look at each shape of a long recording once. */
export function shapeKey(value: unknown): string {
  if (Array.isArray(value)) {
    const keys = value.map(shapeKey)
    return `[${isTuple(value) ? keys.join(',') : [...new Set(keys)].sort().join('|')}]`
  }
  if (typeof value !== 'object' || value === null) return typeOf(value)
  const entries = Object.entries(value).map(([key, inner]) => `${key}:${shapeKey(inner)}`)
  return `{${entries.sort().join(',')}}`
}
