/**
 * Iterates over one list of a large JSON object without parsing all of it, yielding to the event loop every few
 * milliseconds. The text must be valid JSON; a member that is missing or not a list has no elements.
 */
const HOLD_MS = 3
const LOOK_EVERY = 64
const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Setting bit 5 makes `[` and `]` equal to `{` and `}`. */
const isOpening = (code: number) => (code | 0x20) === 0x7b
const isClosing = (code: number) => (code | 0x20) === 0x7d

export async function* elementsOf(bytes: Uint8Array, member: string): AsyncGenerator<string> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = listStart(text, member)
  let heldSince = performance.now()
  for (let count = 1; at !== undefined; count++) {
    const end = elementEnd(text, at)
    if (end === undefined) return
    const element = text.toString('utf8', at, end).trim()
    if (element !== '') yield element
    at = text[end] === 0x2c ? end + 1 : undefined
    if (count % LOOK_EVERY === 0 && performance.now() - heldSince > HOLD_MS) {
      await new Promise((resolve) => setImmediate(resolve))
      heldSince = performance.now()
    }
  }
}

/** Where the list of a member of the outermost object begins. */
function listStart(text: Buffer, member: string): number | undefined {
  const name = `"${member}"`
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text[at] ?? 0
    if (code === QUOTE) {
      const end = stringEnd(text, at)
      if (depth === 1 && text.toString('utf8', at, end) === name) {
        let next = end
        while (text[next] === 0x20 || text[next] === 0x0a || text[next] === 0x3a) next++
        if (next > end && text[next] === 0x5b) return next + 1
      }
      at = end - 1
    } else if (isOpening(code)) depth++
    else if (isClosing(code)) depth--
  }
  return undefined
}

/** The comma after the element, or the bracket that closes the list. */
function elementEnd(text: Buffer, start: number): number | undefined {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const code = text[at] ?? 0
    if (code === QUOTE) at = stringEnd(text, at) - 1
    else if (isOpening(code)) depth++
    else if (isClosing(code)) {
      if (depth === 0) return at
      depth--
    } else if (code === 0x2c && depth === 0) return at
  }
  return undefined
}

function stringEnd(text: Buffer, start: number): number {
  for (let at = text.indexOf(QUOTE, start + 1); at >= 0; at = text.indexOf(QUOTE, at + 1)) {
    let slashes = 0
    while (text[at - 1 - slashes] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return at + 1
  }
  return text.length
}
