/** Longer than any name of ours: nothing of that length is a mistyped one. */
const MAX_WORD_CHARS = 48
/** Of many wrong names only the first get a suggestion: searching for one is the expensive part of a refusal. */
export const MAX_SUGGESTIONS = 3

/** The known word that a mistyped one most likely meant; undefined when none is near. */
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

/** Exact below the bound; from there on only known not to be below it. */
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
    // No later row has less than the least of this one.
    if (least >= bound) return bound
    ;[previous, current] = [current, previous]
  }
  return previous[b.length] ?? 0
}
