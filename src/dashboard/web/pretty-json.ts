const OPEN = '{['
const CLOSE = '}]'

/**
 * JSON with line breaks and every value as written, because a parser would round numbers above 2^53. Truncated text is
 * formatted as far as it goes; text that is not an object or array stays unchanged.
 */
export function prettyJson(text: string): string {
  if (!/^\s*[{[]/.test(text)) return text
  let out = ''
  let depth = 0
  const breakLine = () => `\n${'  '.repeat(Math.max(0, depth))}`
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/gs)) {
    const before = out.at(-1) ?? ''
    if (CLOSE.includes(token)) {
      depth--
      out += OPEN.includes(before) ? token : breakLine() + token
    } else {
      out += OPEN.includes(before) && before !== '' ? breakLine() + token : token
      if (OPEN.includes(token)) depth++
      else if (token === ',') out += breakLine()
      else if (token === ':') out += ' '
    }
  }
  return out
}
