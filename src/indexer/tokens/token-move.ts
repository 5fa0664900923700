/** What a transaction did to one token, in the form of its event. */
import { encodeAddress } from '../../core/chain/address.ts'
import { bytesOfHex } from '../../core/chain/hex.ts'
import { type Network, networkInfo } from '../../core/chain/network.ts'
import type { TokenState } from '../../parser/token-state.ts'
import type { TokenFacts } from '../../store/tokens.ts'

export interface TokenCell {
  /** In the form that `holders` lists; null if it is hidden. */
  readonly holder: string | null
  /** In the token's smallest unit; null if it is hidden. */
  readonly amount: bigint | null
}

/** A holder that gave up an amount. */
export interface TokenSource extends TokenCell {
  /** Whether the holder's key is shown to have signed; null if the transaction does not show it. */
  readonly signed: boolean | null
}

export interface TokenMove {
  readonly tokenId: string
  readonly form: TokenFacts['form']
  /** For KRC-20: `mint`, `transfer`, …; for a covenant token: `transition` or `burn`. */
  readonly operation: string
  /** Null if its effect is unknown, because the token is older than the index or its sender is unknown. */
  readonly isValid: true | null
  readonly from: readonly TokenSource[]
  readonly to: readonly TokenCell[]
}

/** The owner's address, or the kind of owner and its hex if it has no address. */
export function holderOf(
  { owner, owner_type: type }: Pick<TokenState, 'owner' | 'owner_type'>,
  network: Network,
): string {
  const { addressPrefix: prefix } = networkInfo(network)
  if (type === 'pubkey') return encodeAddress({ prefix, version: 0, payload: bytesOfHex(owner) })
  if (type === 'script_hash') return encodeAddress({ prefix, version: 8, payload: bytesOfHex(owner) })
  return `${type}:${owner}`
}
