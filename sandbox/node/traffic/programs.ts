/**
 * Redeem scripts of the generated traffic. All of them can be executed, so the holder of the key can spend the output.
 */
import { pushData, pushText } from '../script/push.ts'

/** KRC-20 envelope: a key check, then the operation in a branch that never runs. */
export function krc20Envelope(publicKey: string, operation: Record<string, string>): string {
  return `20${publicKey}ac0063${pushText('kasplex')}00${pushText(JSON.stringify(operation))}68`
}

/** Requires the owner's signature; the covenant may continue in at most one output, so it can also be burnt. */
export function vaultCovenant(publicKey: string): string {
  return `20${publicKey}adb9cfd251a1`
}

/**
 * The frame of a compiled contract with two entry points: the entry number is moved to the alternative stack while the
 * state is pushed, then compared. `body` runs with the arguments below the state on the stack.
 */
function framed(state: string, body: readonly [string, string]): string {
  return `6b${state}6c76009c6375${body[0]}6776519c6375${body[1]}677500696868`
}

const u64le = (value: bigint) => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return bytes.toString('hex')
}

/**
 * A counter contract in the script language. Its state is owner and count; its entries are a spend, and a spend with an
 * output check.
 */
export function counterContract(publicKey: string, count: bigint): string {
  return framed(`20${publicKey}08${u64le(count)}`, ['75ac', '75adb451a2'])
}

/** A token state (owner, owner type 0 = key, amount, no minter) in the same frame. */
export function tokenContract(publicKey: string, amount: bigint): string {
  return framed(`20${publicKey}010008${u64le(amount)}0100`, ['757575ac', '757575adb9cfd200a2'])
}

/** Unlocks a framed contract: signature, entry number, the program. */
export function enterContract(signaturePush: string, entry: 0 | 1, program: string): string {
  return `${signaturePush}${entry === 0 ? '00' : '51'}${pushData(program)}`
}
