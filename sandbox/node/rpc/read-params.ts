/** Reads request members as the node's types do: strictly, and without details in the refusal. */
import { isHex } from '../consensus/bytes.ts'
import { RpcError } from './errors.ts'

export type Json = unknown
export type JsonObject = Record<string, unknown>

export const malformed = () => new RpcError('request deserialization error')

export function object(value: Json): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed()
  return value as JsonObject
}

export function list<T>(value: Json, read: (item: Json) => T): T[] {
  if (!Array.isArray(value)) throw malformed()
  return value.map(read)
}

export function boolean(value: Json): boolean {
  if (typeof value !== 'boolean') throw malformed()
  return value
}

export function text(value: Json): string {
  if (typeof value !== 'string') throw malformed()
  return value
}

/** Strings, fractions and values out of range are refused. */
export function unsigned(value: Json, max = 0xffffffffffffffffn): bigint {
  if (typeof value !== 'bigint' && !(typeof value === 'number' && Number.isSafeInteger(value)))
    throw malformed()
  const exact = BigInt(value)
  if (exact < 0n || exact > max) throw malformed()
  return exact
}

export const u8 = (value: Json) => Number(unsigned(value, 0xffn))
export const u16 = (value: Json) => Number(unsigned(value, 0xffffn))
export const u32 = (value: Json) => Number(unsigned(value, 0xffffffffn))

export function optional<T>(value: Json, read: (value: Json) => T): T | undefined {
  return value === undefined || value === null ? undefined : read(value)
}

export function hex(value: Json, byteLength?: number): string {
  const found = text(value)
  if (!isHex(found, byteLength)) throw malformed()
  return found.toLowerCase()
}

export const hash = (value: Json) => hex(value, 32)
