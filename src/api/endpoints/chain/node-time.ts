/** The time format of the node endpoints: `2026-03-14T04:00:00.000+00:00`. */
export function nodeTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString().replace('Z', '+00:00')
}
