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
    const distance = editDistance(lower, candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      current.push(Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, substitution))
    }
    previous = current
  }
  return previous[b.length] ?? 0
}
