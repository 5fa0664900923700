/** JSON whose integers keep all their digits: those above 2^53 are bigints. */

const LONG_INTEGER = /(?:^|[[:,\s])-?\d{16,}(?=[\s,}\]]|$)/

export function parseJson(text: string): unknown {
  return LONG_INTEGER.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text)
}

function keepDigits(_name: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || !Number.isInteger(value) || Number.isSafeInteger(value)) return value
  // Older engines do not pass the digits to the reviver, and a rounded amount would be wrong.
  if (context?.source === undefined) throw new SyntaxError('This runtime cannot read integers above 2^53.')
  return /^-?\d+$/.test(context.source) ? BigInt(context.source) : value
}

export function writeJson(value: unknown): string {
  const { rawJSON } = JSON as unknown as { rawJSON?: (text: string) => unknown }
  return JSON.stringify(value, (_name, found: unknown) => {
    if (typeof found !== 'bigint') return found
    // The service also accepts 64-bit integers as decimal text.
    return rawJSON === undefined ? String(found) : rawJSON(String(found))
  })
}
