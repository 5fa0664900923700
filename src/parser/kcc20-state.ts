/**
 * The state block with which a token covenant of the KCC-20 kind begins:
 *
 *   OP_TOALTSTACK?  <owner, 32>  <owner type, 1>  <amount, 8, little-endian>  <is minter, 1>  OP_FROMALTSTACK?
 */
import { hexOfBytes } from '../core/chain/hex.ts'
import { OP } from './opcodes.ts'
import type { Script } from './read-script.ts'

const KCC20_OWNER_TYPES = ['pubkey', 'script_hash', 'covenant', 'presence'] as const

export interface Kcc20State {
  /** hex: a key, a script hash or a covenant id, as the type says */
  readonly owner: string
  readonly owner_type: (typeof KCC20_OWNER_TYPES)[number]
  readonly amount: bigint
  readonly is_minter: boolean
  /** Whether the block is inside the frame of a program with several entry points. */
  readonly framed: boolean
}

export function readKcc20State(script: Script): Kcc20State | null {
  const framed = script.op(0) === OP.TO_ALT_STACK
  const start = framed ? 1 : 0
  if (framed && script.op(start + 4) !== OP.FROM_ALT_STACK) return null
  const [owner, type, amount, minter] = [0, 1, 2, 3].map((i) => script.data(start + i))
  if (owner?.length !== 32 || type?.length !== 1 || amount?.length !== 8 || minter?.length !== 1) return null
  const ownerType = KCC20_OWNER_TYPES[type[0] ?? -1]
  const minterFlag = minter[0] ?? 2
  if (ownerType === undefined || minterFlag > 1) return null
  return {
    owner: hexOfBytes(owner),
    owner_type: ownerType,
    amount: Buffer.from(amount).readBigUInt64LE(),
    is_minter: minterFlag === 1,
    framed,
  }
}
