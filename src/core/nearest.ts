/** Longer than any of our names, so longer text is not a typo of one. */
const MAX_WORD_CHARS = 48
/** Only the first wrong names get a suggestion, because the search is the most expensive part of a refusal. */
export const MAX_SUGGESTIONS = 3

/** The known word that a mistyped one most likely meant; undefined when none is close. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (word.length > MAX_WORD_CHARS) return undefined
  const lower = word.toLowerCase()
  let best: string | undefined
  let bestDistance = Math.max(2, Math.floor(lower.length / 2)) + 1
  for (const candidate of known) {
    const distance = editDistance(lower, candidate.toLowerCase(), bestDistance)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Exact below the bound; otherwise some number that is not below it. */
function editDistance(a: string, b: string, bound: number): number {
  if (Math.abs(a.length - b.length) >= bound) return bound
  let previous = new Uint16Array(b.length + 1)
  let current = new Uint16Array(b.length + 1)
  for (let j = 0; j <= b.length; j++) previous[j] = j
  for (let i = 1; i <= a.length; i++) {
    const char = a.charCodeAt(i - 1)
    let left = i
    let least = i
    current[0] = i
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (char === b.charCodeAt(j - 1) ? 0 : 1)
      left = Math.min((previous[j] ?? 0) + 1, left + 1, substitution)
      current[j] = left
      if (left < least) least = left
    }
    // No later row can have a value below the smallest one of this row.
    if (least >= bound) return bound
    ;[previous, current] = [current, previous]
  }
  return previous[b.length] ?? 0
}
