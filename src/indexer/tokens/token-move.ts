/** What a transaction did to one token, as its event shows it. */
import { encodeAddress } from '../../core/chain/address.ts'
import { bytesOfHex } from '../../core/chain/hex.ts'
import { type Network, networkInfo } from '../../core/chain/network.ts'
import type { TokenState } from '../../parser/token-state.ts'
import type { TokenFacts } from '../../store/tokens.ts'

export interface TokenCell {
  /** As `holders` lists it; null where it is hidden. */
  readonly holder: string | null
  /** In the token's smallest unit; null where it is hidden. */
  readonly amount: bigint | null
}

/** Who gave it up. */
export interface TokenSource extends TokenCell {
  /** Whether the holder's key is shown to have signed; null where it is not shown. */
  readonly signed: boolean | null
}

export interface TokenMove {
  readonly tokenId: string
  readonly form: TokenFacts['form']
  /** Of KRC-20: `mint`, `transfer`, …; of a covenant token: `transition` or `burn`. */
  readonly operation: string
  /** Null: whether it had any effect is not known, because the token is older than the index. */
  readonly isValid: true | null
  readonly from: readonly TokenSource[]
  readonly to: readonly TokenCell[]
}

/** An address where the owner has one; otherwise what kind of owner it is, and its hex. */
export function holderOf(
  { owner, owner_type: type }: Pick<TokenState, 'owner' | 'owner_type'>,
  network: Network,
): string {
  const { addressPrefix: prefix } = networkInfo(network)
  if (type === 'pubkey') return encodeAddress({ prefix, version: 0, payload: bytesOfHex(owner) })
  if (type === 'script_hash') return encodeAddress({ prefix, version: 8, payload: bytesOfHex(owner) })
  return `${type}:${owner}`
}
