/**
 * The token part of the chain index: entries, each under a key, that accepted transactions change. The replaced value
 * is stored beside every change until its block can no longer leave the chain, so that entries are undone together with
 * the chain.
 */

/** The value stored under a key. */
export interface TokenEntry {
  readonly token: string
  readonly kind: 'token' | 'holder' | 'order' | 'output'
  /** Sort key among entries of one kind: `amountPlace` of a holder's amount. */
  readonly place: string
  /** JSON. */
  readonly value: string
}

/** A token as described by its entry; amounts are digit strings in the token's smallest unit. */
export interface TokenFacts {
  readonly form: 'krc20' | 'kcc20' | 'kcc0020'
  /**
   * How far its amounts can be trusted. `complete`: every operation since its beginning was applied. `since_deploy`:
   * every operation since a deployment that was seen, but an earlier deployment of the same tick may be older than the
   * index. `revealed`: what spent outputs have shown. `unknown`: the token is older than the index.
   */
  readonly history: 'complete' | 'since_deploy' | 'revealed' | 'unknown'
  readonly operations: number
  readonly holders: number
  readonly firstSeenMs: number
  readonly firstTxId: string
  /** Only for KRC-20. */
  readonly krc20?: Krc20Facts
  /** Only for covenant tokens: the sum of the proven states, and the number of unspent outputs it comes from. */
  readonly proven?: { readonly amount: string; readonly outputs: number }
}

export interface Krc20Facts {
  readonly name: string | null
  readonly max: string
  readonly lim: string
  readonly pre: string
  readonly dec: number
  readonly mode: 'mint' | 'issue'
  readonly deployer: string
  /** Null if the deployment names no owner with an address. */
  readonly owner: string | null
  readonly minted: string
  readonly burned: string
}

export interface TokenChange {
  readonly key: string
  readonly before: TokenEntry | null
  readonly after: TokenEntry | null
}

/** An event about an acceptance, which is retracted when its block leaves the chain. */
export interface RetractableEvent {
  readonly eventId: string
  /** Same format as `NewEvent.tail`. */
  readonly tail: string
}

export interface StoredToken {
  readonly token: string
  readonly value: string
}

export interface TokenHolder {
  readonly key: string
  readonly place: string
  readonly value: string
}

export interface TokenStore {
  /** Entries by key, as they would be without the changes of these chain blocks. */
  tokenEntries(keys: readonly string[], without: readonly string[]): Promise<Map<string, TokenEntry>>
  /** The retractable events of these chain blocks, newest first. */
  retractable(hashes: readonly string[]): Promise<RetractableEvent[]>
  token(token: string): Promise<string | undefined>
  /** By id. */
  tokens(query: { limit: number; after?: string }): Promise<{ tokens: StoredToken[]; hasMore: boolean }>
  /** Largest amount first. */
  tokenHolders(query: {
    token: string
    limit: number
    after?: { readonly place: string; readonly key: string }
  }): Promise<{ holders: TokenHolder[]; hasMore: boolean }>
}

/** A text that sorts in the order of the amounts, because it starts with the number of digits. */
export function amountPlace(amount: bigint): string {
  const digits = amount.toString()
  return `${String(digits.length).padStart(2, '0')}${digits}`
}

export const tokenKey = (token: string): string => `token ${token}`
export const holderKey = (token: string, holder: string): string => `holder ${token} ${holder}`

/** The holder part of a key. */
export function holderOfKey(key: string): string {
  return key.slice(key.lastIndexOf(' ') + 1)
}
