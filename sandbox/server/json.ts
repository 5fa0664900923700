/** Reads what clients send. */

/** Undefined if the text is not a JSON object. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** Query values that are repeated or separated by commas. */
export const many = (query: URLSearchParams, name: string): string[] =>
  query
    .getAll(name)
    .flatMap((value) => value.split(','))
    .filter((value) => value !== '')

/** A natural number; the fallback for anything else. */
export function whole(text: string | null, fallback: number): number {
  const value = Number(text ?? Number.NaN)
  return Number.isSafeInteger(value) && value >= 0 ? value : fallback
}
