/**
 * A message that can be read, with a price that no row can have: what a venue sends by mistake. Sizes are left alone, a
 * change of one may be negative.
 */
const NAMED = /"(p|px|b|o|price|yes_price_dollars|price_dollars|open_dollars|markPx)":"(?=\d)/
/** A row of a list: its time and its first price. */
const LISTED = /\[\d{13},"(?=\d)/

/** undefined for a text without a price. */
export function unfitValue(text: string): string | undefined {
  const pattern = NAMED.test(text) ? NAMED : LISTED
  return pattern.test(text) ? text.replace(pattern, (found) => `${found}-`) : undefined
}
