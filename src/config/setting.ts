/**
 * A setting is declared once: its variable, type, default and a one-sentence description. The kinds of values follow
 * below.
 */
export interface Setting<T> {
  readonly variable: string
  readonly about: string
  readonly fallback: T
  readonly secret: boolean
  /** The allowed values, for the error about a wrong value. */
  readonly allowed: string
  readonly read: (text: string) => T | undefined
  /** What exactly is wrong with a value, if more can be said than what is allowed. */
  readonly fault?: (text: string) => string | undefined
  /** For values that are displayed in another form. */
  shown?(value: T): string
  /** Errors do not repeat the text itself, because parts of it are secret. */
  readonly carriesKeys?: true
}

export function setting<T>(
  variable: string,
  about: string,
  fallback: T,
  kind: Pick<Setting<T>, 'allowed' | 'read' | 'fault' | 'shown' | 'carriesKeys'>,
): Setting<T> {
  return { variable: `TAPELINE_${variable}`, about, fallback, secret: false, ...kind }
}

export function secret<T>(inner: Setting<T>): Setting<T> {
  return { ...inner, secret: true }
}

/** Not an empty one: as a host it would be every address, as a folder none. */
export const anyText = {
  allowed: 'any text',
  read: (value: string) => (value === '' ? undefined : value),
}
export const optionalText = {
  allowed: 'any text',
  read: (value: string): string | null => (value === '' ? null : value),
}
export const onOff = {
  allowed: 'on or off',
  read: (value: string) =>
    ({ on: true, true: true, '1': true, off: false, false: false, '0': false })[value.toLowerCase()],
}
export const whole = (min: number, max: number) => ({
  allowed: `a whole number from ${min} to ${max}`,
  read: (value: string) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    return number >= min && number <= max ? number : undefined
  },
})
export const optionalWhole = (min: number, max: number) => ({
  allowed: `a whole number from ${min} to ${max}, or off`,
  read: (value: string): number | null | undefined => (value === 'off' ? null : whole(min, max).read(value)),
})
export const oneOf = <const A extends readonly string[]>(values: A) => ({
  allowed: `one of ${values.join(', ')}`,
  read: (value: string): A[number] | undefined => values.find((known) => known === value),
})
export const listOf = <T>(
  allowed: string,
  item: (text: string) => T | undefined,
  separator: RegExp = /,/,
) => ({
  allowed: `${allowed}, separated by commas`,
  read: (value: string): T[] | undefined => {
    const items = value
      .split(separator)
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map(item)
    return items.some((entry) => entry === undefined) ? undefined : (items as T[])
  },
})
const UNITS = {
  '': 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
  TIB: 2 ** 40,
}
export const byteSize = {
  allowed: 'a number of bytes such as 500MB, 2GB or 1TB, or off',
  read: (value: string): number | null | undefined => {
    if (value === 'off') return null
    const [, number, unit = ''] = /^(\d{1,15}(?:\.\d{1,3})?)\s?([KMGT]I?B)?$/i.exec(value) ?? []
    if (number === undefined) return undefined
    const bytes = Math.round(Number(number) * UNITS[unit.toUpperCase() as keyof typeof UNITS])
    return Number.isSafeInteger(bytes) ? bytes : undefined
  },
}
export const url = (value: string) => (URL.canParse(value) ? value : undefined)
