/** Names for the components of a document. */
export function freeName(wanted: string, taken: object): string {
  let name = wanted
  for (let n = 2; Object.hasOwn(taken, name); n++) name = `${wanted}${n}`
  return name
}

export function pascal(text: string): string {
  return text.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, first: string) => first.toUpperCase())
}

export function mapValues<From, To>(
  from: Readonly<Record<string, From>>,
  map: (value: From, key: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(from).map(([key, value]) => [key, map(value, key)]))
}
