/**
 * The token part of the chain index: entries that accepted transactions change, each by its key. What a change replaced
 * is stored beside it until its block can no longer leave the chain, so that the entries go back with the chain.
 */

/** What is stored under a key. */
export interface TokenEntry {
  readonly token: string
  readonly kind: 'token' | 'holder' | 'order' | 'output'
  /** By which entries of one kind are ordered: `amountPlace` of a holder's amount. */
  readonly place: string
  /** JSON. */
  readonly value: string
}

/** A token as its entry describes it; amounts are texts of digits, in the token's smallest unit. */
export interface TokenFacts {
  readonly form: 'krc20' | 'kcc20' | 'kcc0020'
  /**
   * What its amounts rest on: `complete`, every operation since its beginning was applied; `since_deploy`, all since
   * a deployment that was seen, but an earlier one of the same tick may be older than the index; `revealed`, what
   * spent outputs have shown; `unknown`, it is older than the index.
   */
  readonly history: 'complete' | 'since_deploy' | 'revealed' | 'unknown'
  readonly operations: number
  readonly holders: number
  readonly firstSeenMs: number
  readonly firstTxId: string
  /** Of KRC-20. */
  readonly krc20?: Krc20Facts
  /** Of covenant tokens: the sum of proven states, and of how many unspent outputs. */
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
  /** Null where the deployment named nobody who has an address. */
  readonly owner: string | null
  readonly minted: string
  readonly burned: string
}

export interface TokenChange {
  readonly key: string
  readonly before: TokenEntry | null
  readonly after: TokenEntry | null
}

/** An event about an acceptance, to be taken back when its block leaves the chain. */
export interface RetractableEvent {
  readonly eventId: string
  /** As `NewEvent.tail`. */
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
  /** Entries by key, as they are without what these chain blocks have accepted. */
  tokenEntries(keys: readonly string[], without: readonly string[]): Promise<Map<string, TokenEntry>>
  /** What these chain blocks have reported, newest first. */
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

/** A text that is ordered as the number is: its length first. */
export function amountPlace(amount: bigint): string {
  const digits = amount.toString()
  return `${String(digits.length).padStart(2, '0')}${digits}`
}

export const tokenKey = (token: string): string => `token ${token}`
export const holderKey = (token: string, holder: string): string => `holder ${token} ${holder}`

/** The holder that a key names. */
export function holderOfKey(key: string): string {
  return key.slice(key.lastIndexOf(' ') + 1)
}
