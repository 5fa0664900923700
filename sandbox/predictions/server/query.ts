/** Reading query parameters. */

/** Repeated or separated by commas. */
export const many = (query: URLSearchParams, name: string): string[] =>
  query
    .getAll(name)
    .flatMap((value) => value.split(','))
    .filter((value) => value !== '')

export function whole(text: string | null, fallback: number): number {
  const value = Number(text ?? Number.NaN)
  return Number.isSafeInteger(value) && value >= 0 ? value : fallback
}
