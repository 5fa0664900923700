/**
 * Turns a message into one that is readable but has a price that no row can have, like a venue's mistake. Sizes are
 * left alone, because a change of size may be negative.
 */
const NAMED = /"(p|px|b|o|price|yes_price_dollars|price_dollars|open_dollars|markPx)":"(?=\d)/
/** A row of a list: its time and its first price. */
const LISTED = /\[\d{13},"(?=\d)/

/** Undefined for a text without a price. */
export function unfitValue(text: string): string | undefined {
  const pattern = NAMED.test(text) ? NAMED : LISTED
  return pattern.test(text) ? text.replace(pattern, (found) => `${found}-`) : undefined
}
