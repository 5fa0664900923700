/**
 * The state block at the start of a covenant token's program. Two forms are known; a block that begins inside the
 * frame also ends inside it:
 *
 *   KCC-20    OP_TOALTSTACK?  <owner, 32>  <owner type, 1>  <amount, 8>  <is minter, 1>        OP_FROMALTSTACK?
 *   KCC-0020  OP_TOALTSTACK?  <owner, 32>  <owner type, 1>  <amount, 8>  <extended state, 32>  OP_FROMALTSTACK?
 *
 * Amounts are little-endian. The second form is a draft with a signed amount; a negative number is not an amount.
 */
import { hexOfBytes } from '../core/chain/hex.ts'
import { OP } from './opcodes.ts'
import type { Script } from './read-script.ts'

const OWNER_TYPES = ['pubkey', 'script_hash', 'covenant', 'presence'] as const

export interface TokenState {
  readonly form: 'kcc20' | 'kcc0020'
  /** hex: a key, a script hash or a covenant id, depending on the type */
  readonly owner: string
  readonly owner_type: (typeof OWNER_TYPES)[number]
  readonly amount: bigint
  /** Whether its holder may mint; null if the form does not say. */
  readonly is_minter: boolean | null
  /** Whether the block is inside the frame of a program with several entry points. */
  readonly framed: boolean
}

/** The pushes of a state block. */
export interface StateFields {
  readonly owner: Uint8Array
  readonly type: Uint8Array
  readonly amount: Uint8Array
  readonly rest: Uint8Array
}

const SIGN_BIT = 0x80
const EXTENDED_STATE_BYTES = 32

export function readTokenState(script: Script): TokenState | null {
  const framed = script.op(0) === OP.TO_ALT_STACK
  const start = framed ? 1 : 0
  if (framed && script.op(start + 4) !== OP.FROM_ALT_STACK) return null
  const [owner, type, amount, rest] = [0, 1, 2, 3].map((i) => script.data(start + i))
  if (owner === undefined || type === undefined || amount === undefined || rest === undefined) return null
  const state = tokenStateOf({ owner, type, amount, rest })
  return state && { ...state, framed }
}

export function tokenStateOf({ owner, type, amount, rest }: StateFields): Omit<TokenState, 'framed'> | null {
  if (owner.length !== 32 || type.length !== 1 || amount.length !== 8) return null
  const ownerType = OWNER_TYPES[type[0] ?? -1]
  if (ownerType === undefined) return null
  const common = {
    owner: hexOfBytes(owner),
    owner_type: ownerType,
    amount: Buffer.from(amount).readBigUInt64LE(),
  }
  if (rest.length === EXTENDED_STATE_BYTES) {
    const isNegative = ((amount[7] ?? 0) & SIGN_BIT) !== 0
    return isNegative ? null : { form: 'kcc0020', ...common, is_minter: null }
  }
  const minter = rest[0] ?? 2
  return rest.length !== 1 || minter > 1 ? null : { form: 'kcc20', ...common, is_minter: minter === 1 }
}

/** The same program with another state. */
export function withTokenState(program: Uint8Array, { owner, type, amount, rest }: StateFields): Uint8Array {
  const start = program[0] === OP.TO_ALT_STACK ? 1 : 0
  const changed = Uint8Array.from(program)
  let at = start
  for (const field of [owner, type, amount, rest]) {
    changed.set(field, at + 1)
    at += 1 + field.length
  }
  return changed
}
