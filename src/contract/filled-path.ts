/**
 * The path of a resource: that of its endpoint with the values of its parameters. One resource has one path, however a
 * request spells it.
 */
export function filledPath(path: string, values: Readonly<Record<string, string>>): string {
  return path.replace(/\{([^}]+)\}/g, (_all, name: string) => encoded(values[name] ?? ''))
}

/** The colon of an address may stand in a path. */
function encoded(value: string): string {
  return encodeURIComponent(value).replaceAll('%3A', ':')
}
