export interface TypedBody {
  /** The parsed body, for the program snippets; integers that a number cannot hold are bigints. */
  readonly value?: unknown
  readonly problem?: string
}

/** The body that the user typed. It is checked here but sent as typed, because a parser would round 64-bit integers. */
export function readBody(text: string): TypedBody {
  try {
    return { value: JSON.parse(text, keepDigits) as unknown }
  } catch {
    return { problem: 'The body is not JSON.' }
  }
}

/** Browsers that do not pass the source text of a value leave it rounded. */
function keepDigits(_name: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  return source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value
}
