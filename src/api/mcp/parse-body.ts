const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

/** The members of a JSON object. Integers above 2^53 keep their digits when they are serialised again. */
export function parseBody(text: string): Record<string, unknown> {
  try {
    const value: unknown = /\d{16}/.test(text) ? JSON.parse(text, keepLargeIntegers) : JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : { value }
  } catch {
    return {}
  }
}

function keepLargeIntegers(_name: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || !Number.isInteger(value) || Number.isSafeInteger(value)) return value
  const digits = context?.source ?? ''
  return /^-?\d+$/.test(digits) ? rawJSON(digits) : value
}
