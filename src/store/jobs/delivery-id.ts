/** `dlv_<subscription>_<number>`: the id of a delivery, with the number that the engine assigned to it. */
const PREFIX = 'dlv_'
const NUMBER_BASE = 36
const NUMBER = /^[0-9a-z]{1,10}$/

export function deliveryId(subscriptionId: string, number: number): string {
  return prefixOf(subscriptionId) + number.toString(NUMBER_BASE)
}

/** Undefined when no delivery of this subscription can have the id. */
export function deliveryNumber(subscriptionId: string, id: string): number | undefined {
  const prefix = prefixOf(subscriptionId)
  const digits = id.slice(prefix.length)
  if (!id.startsWith(prefix) || !NUMBER.test(digits)) return undefined
  const number = Number.parseInt(digits, NUMBER_BASE)
  return number.toString(NUMBER_BASE) === digits ? number : undefined
}

function prefixOf(subscriptionId: string): string {
  return `${PREFIX}${subscriptionId.replace(/^wh_/, '')}_`
}
