/**
 * The kinds of parameters that node methods take, as TypeBox schemas. `x-wire` names what JSON Schema cannot express
 * (checksum, network, exact 64-bit integers, rewriting). `validate-params.ts` acts on it; documents generated from the
 * table may ignore it.
 */
import { type TSchema, Type } from 'typebox'

const WIRE = 'x-wire'

export type WireKind =
  | 'address'
  | 'hex'
  | 'unsigned'
  | 'boolean'
  | 'choice'
  | 'transaction'
  | 'blueWork'
  | 'list'
  | 'members'

/** A schema of this file, read as plain data. */
export interface WireSchema {
  readonly [WIRE]: WireKind
  readonly description?: string
  readonly default?: unknown
  readonly bytes?: number
  readonly max?: bigint
  readonly min?: bigint
  readonly choices?: readonly string[]
  readonly items?: WireSchema
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, WireSchema>>
  readonly required?: readonly string[]
}

const U64_MAX = 0xffff_ffff_ffff_ffffn

/** Attaches bigint bounds as non-enumerable members, because a schema must survive `JSON.stringify`. */
function hidden<T extends TSchema>(schema: T, extra: Record<string, unknown>): T {
  for (const [name, value] of Object.entries(extra)) Object.defineProperty(schema, name, { value })
  return schema
}

export const hashParam = (description: string) =>
  hidden(Type.String({ [WIRE]: 'hex', pattern: '^[0-9a-fA-F]{64}$', description }), { bytes: 32 })

export const subnetworkParam = (description: string) =>
  hidden(Type.String({ [WIRE]: 'hex', pattern: '^[0-9a-fA-F]{40}$', description }), { bytes: 20 })

export const blueWorkParam = (description: string) =>
  Type.String({ [WIRE]: 'blueWork', pattern: '^[0-9a-fA-F]{1,48}$', description })

export const addressParam = (description: string) =>
  Type.String({ [WIRE]: 'address', description, examples: ['kaspa:q…'] })

export const flagParam = (description: string, byDefault: boolean) =>
  Type.Optional(Type.Boolean({ [WIRE]: 'boolean', description, default: byDefault }))

export const choiceParam = (description: string, choices: readonly string[]) =>
  Type.String({ [WIRE]: 'choice', enum: choices, choices, description })

export interface UnsignedBounds {
  bits: 8 | 16 | 32 | 64
  min?: number
  max?: number
}

/** A number, or decimal text where a double would lose digits. */
export const unsignedParam = (description: string, bounds: UnsignedBounds, byDefault?: number) => {
  const max = bounds.max === undefined ? (1n << BigInt(bounds.bits)) - 1n : BigInt(bounds.max)
  const min = BigInt(bounds.min ?? 0)
  const options = {
    [WIRE]: 'unsigned',
    description,
    ...(byDefault === undefined ? {} : { default: byDefault }),
  }
  const upTo = max === U64_MAX ? {} : { maximum: Number(max) }
  const forms = [Type.Integer({ minimum: Number(min), ...upTo }), Type.String({ pattern: '^[0-9]{1,20}$' })]
  return hidden(Type.Union(forms, options), { max, min })
}

export const listParam = (
  description: string,
  items: TSchema,
  maxItems: number,
  byDefault?: readonly unknown[],
) =>
  Type.Array(items, {
    [WIRE]: 'list',
    description,
    maxItems,
    ...(byDefault === undefined ? {} : { default: byDefault }),
  })

/** An object with exactly these members. */
export const membersParam = (properties: Record<string, TSchema>, description = '') =>
  Type.Object(properties, {
    [WIRE]: 'members',
    additionalProperties: false,
    ...(description === '' ? {} : { description }),
  })

export const transactionParam = (description: string) =>
  Type.Object({}, { [WIRE]: 'transaction', additionalProperties: true, description })

export const optionalParam = <T extends TSchema>(schema: T) => Type.Optional(schema)

export function asWire(schema: TSchema): WireSchema {
  return schema as unknown as WireSchema
}
