/**
 * Turns a caller's params into the exact text that is sent to a node, or into a list of all faults in them.
 *
 * The text is written from the table and never copied, so a member that the table does not know cannot be forwarded.
 * Two inputs crash a node (an address of a wrong length with a valid checksum; a scriptPublicKey object with wrong
 * types), so addresses are decoded completely and compared with the network, and transactions are read into the model
 * and written in hex form.
 */
import { decodeAddress } from '../core/chain/address.ts'
import { type FieldFault, FieldReader } from '../core/chain/field-reader.ts'
import { type Network, networkInfo } from '../core/chain/network.ts'
import { readTransaction, writeTransaction } from '../core/chain/transaction-json.ts'
import { type ExactJson, writeExact } from '../kit/exact-json.ts'
import { isBlocked, MAX_INPUTS_AND_OUTPUTS, RPC_METHODS, type RpcMethod } from './methods.ts'
import { asWire, type WireKind, type WireSchema } from './param-kinds.ts'

/** A validated call. The constructor is private so that nothing unchecked can reach a socket. */
export class ValidCall {
  readonly method: RpcMethod
  readonly paramsText: string

  private constructor(method: RpcMethod, paramsText: string) {
    this.method = method
    this.paramsText = paramsText
  }

  /** Identical calls have identical keys. */
  get key(): string {
    return `${this.method.name} ${this.paramsText}`
  }

  static check(name: string, params: unknown, network: Network): Preparation {
    const method = RPC_METHODS.get(name)
    if (method === undefined) {
      return { ok: false, kind: isBlocked(name) ? 'blocked_method' : 'unknown_method', faults: [] }
    }
    const checker = new Checker(network)
    const value = checker.members(asWire(method.params), params ?? {}, '')
    if (checker.reader.faults.length > 0) {
      return { ok: false, kind: 'invalid_params', faults: checker.reader.faults }
    }
    return { ok: true, call: new ValidCall(method, writeExact(value)) }
  }
}

export type Preparation =
  | { ok: true; call: ValidCall }
  | { ok: false; kind: 'unknown_method' | 'blocked_method' | 'invalid_params'; faults: readonly FieldFault[] }

/** `params` is parsed JSON with exact integers; undefined and null mean no params. Never throws. */
export function validateParams(name: string, params: unknown, network: Network): Preparation {
  return ValidCall.check(name, params, network)
}

const BLUE_WORK = /^[0-9a-fA-F]{1,48}$/
const NOTHING: ExactJson = null

class Checker {
  readonly reader = new FieldReader()
  readonly #network: Network
  #inputsAndOutputs = 0

  constructor(network: Network) {
    this.#network = network
  }

  members(schema: WireSchema, value: unknown, path: string): ExactJson {
    const given = this.reader.members(value, path === '' ? 'params' : path)
    if (given === undefined) return NOTHING
    const properties = schema.properties ?? {}
    for (const name of Object.keys(given)) {
      if (this.reader.isFull) return NOTHING
      if (!Object.hasOwn(properties, name)) this.reader.fault(join(path, name), unknownName(properties))
    }
    const written: Record<string, ExactJson> = {}
    for (const [name, inner] of Object.entries(properties)) {
      const raw = Object.hasOwn(given, name) ? given[name] : undefined
      const member = raw === undefined || raw === null ? inner.default : raw
      if (member !== undefined) written[name] = this.#value(inner, member, join(path, name))
      else if (schema.required?.includes(name)) this.reader.fault(join(path, name), 'is missing')
    }
    return written
  }

  #value(schema: WireSchema, value: unknown, path: string): ExactJson {
    return this.#kinds[schema['x-wire']](schema, value, path)
  }

  readonly #kinds: Record<WireKind, (schema: WireSchema, value: unknown, path: string) => ExactJson> = {
    address: (_, value, path) => this.#address(value, path),
    hex: (schema, value, path) => this.reader.fixedHex(value, path, schema.bytes ?? 32),
    unsigned: (schema, value, path) => this.#unsigned(schema, value, path),
    boolean: (_, value, path) => {
      if (typeof value !== 'boolean') this.reader.fault(path, 'must be true or false')
      return value === true
    },
    choice: (schema, value, path) => {
      const found = schema.choices?.find((choice) => choice === value)
      if (found === undefined) this.reader.fault(path, `must be one of ${schema.choices?.join(', ')}`)
      return found ?? NOTHING
    },
    blueWork: (_, value, path) => {
      if (typeof value === 'string' && BLUE_WORK.test(value)) return value.toLowerCase().padStart(48, '0')
      this.reader.fault(path, 'must be 1 to 48 hex digits')
      return NOTHING
    },
    transaction: (_, value, path) => {
      if (!this.#fits(value, path)) return NOTHING
      const read = readTransaction(value, path)
      if (read.ok) return writeTransaction(read.transaction)
      for (const fault of read.faults) this.reader.fault(fault.path, fault.message)
      return NOTHING
    },
    list: (schema, value, path) => {
      const items = this.reader.list(value, path, schema.maxItems ?? 0)
      const inner = schema.items
      if (inner === undefined) return []
      const read: ExactJson[] = []
      for (const [index, item] of items.entries()) {
        if (this.reader.isFull) break
        read.push(this.#value(inner, item, `${path}[${index}]`))
      }
      return read
    },
    members: (schema, value, path) => this.members(schema, value, path),
  }

  /** Counts before reading, because reading is what takes time. */
  #fits(transaction: unknown, path: string): boolean {
    const { inputs, outputs } = (transaction ?? {}) as { inputs?: unknown; outputs?: unknown }
    const before = this.#inputsAndOutputs
    for (const list of [inputs, outputs]) if (Array.isArray(list)) this.#inputsAndOutputs += list.length
    if (this.#inputsAndOutputs <= MAX_INPUTS_AND_OUTPUTS) return true
    const message = `would be more than ${MAX_INPUTS_AND_OUTPUTS} inputs and outputs together with those before it`
    if (before <= MAX_INPUTS_AND_OUTPUTS) this.reader.fault(path, message)
    return false
  }

  #address(value: unknown, path: string): ExactJson {
    if (typeof value !== 'string') {
      this.reader.fault(path, 'must be an address')
      return NOTHING
    }
    const decoded = decodeAddress(value)
    if (!decoded.ok) {
      this.reader.fault(path, decoded.message)
      return NOTHING
    }
    const { addressPrefix } = networkInfo(this.#network)
    if (decoded.address.prefix !== addressPrefix) {
      this.reader.fault(path, `is an address of another network: ${this.#network} has "${addressPrefix}:"`)
    }
    return value
  }

  #unsigned(schema: WireSchema, value: unknown, path: string): ExactJson {
    const number = this.reader.unsigned(value, path, schema.max ?? 0n)
    if (schema.min !== undefined && number < schema.min)
      this.reader.fault(path, `must be at least ${schema.min}`)
    return number
  }
}

function join(path: string, name: string): string {
  const shown = name.length > 60 ? `${name.slice(0, 60)}…` : name
  return path === '' ? shown : `${path}.${shown}`
}

function unknownName(properties: Readonly<Record<string, WireSchema>>): string {
  const known = Object.keys(properties)
  return known.length === 0
    ? 'is unknown: the method takes no params'
    : `is unknown: known are ${known.join(', ')}`
}
